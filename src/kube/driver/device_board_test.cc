#include "kube/driver/device_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Health = DeviceState::Health;

std::vector<PoolDevice> RdtDevices(const std::vector<std::string>& drift = {}) {
  NodeReport report = ReportForTest();
  report.types.resize(1);
  report.types[0].classes[0].drift = drift;
  return PoolDevicesOf(report);
}

TEST(DeviceBoardTest, NothingIsKnownAtFirst) {
  const DeviceBoard board;
  EXPECT_FALSE(board.has_devices());
  EXPECT_TRUE(board.States().empty());
  const auto found = board.Find("rdt-gold", absl::ZeroDuration());
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
}

TEST(DeviceBoardTest, FindWaitsForTheFirstDevices) {
  DeviceBoard board;
  std::thread later([&] { board.Set(RdtDevices()); });
  const auto found = board.Find("rdt-gold", absl::Seconds(30));
  later.join();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, (qos::ClassId{qos::Level::kContainer, "rdt", "gold"}));
}

TEST(DeviceBoardTest, AMissingDeviceIsNamedWithThoseThatThereAre) {
  DeviceBoard board;
  board.Set(RdtDevices());
  const auto found = board.Find("rdt-silver", absl::ZeroDuration());
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("device \"rdt-silver\" is no class of this node now; it has rdt-bronze, "
                        "rdt-gold"));
  board.Set({});
  EXPECT_THAT(std::string(board.Find("x", absl::ZeroDuration()).status().message()),
              HasSubstr("none at all"));
}

TEST(DeviceBoardTest, HealthIsWhatTheRuntimeTells) {
  DeviceBoard board;
  board.Set(RdtDevices({"thread 7 is elsewhere"}));
  EXPECT_THAT(board.States(),
              ElementsAre(DeviceState{"rdt-bronze", Health::kHealthy, ""},
                          DeviceState{"rdt-gold", Health::kUnhealthy, "thread 7 is elsewhere"}));
  board.Lose();
  EXPECT_TRUE(board.is_lost());
  EXPECT_THAT(board.States(),
              ElementsAre(DeviceState{"rdt-bronze", Health::kUnknown, "plimsolld doesn't answer"},
                          DeviceState{"rdt-gold", Health::kUnknown, "plimsolld doesn't answer"}));
  EXPECT_TRUE(board.Find("rdt-gold", absl::ZeroDuration()).ok()) << "a pod may be prepared";
  EXPECT_TRUE(board.Set(RdtDevices()));
  EXPECT_EQ(board.States()[1].health, Health::kHealthy);
}

TEST(DeviceBoardTest, ListenersHearChangesAlone) {
  DeviceBoard board;
  int heard = 0;
  const int handle = board.Listen([&] { ++heard; });
  EXPECT_TRUE(board.Set(RdtDevices()));
  EXPECT_FALSE(board.Set(RdtDevices()));
  EXPECT_EQ(heard, 1);
  board.Lose();
  board.Lose();
  EXPECT_EQ(heard, 2);
  board.Remind();
  EXPECT_EQ(heard, 3);
  board.Unlisten(handle);
  board.Remind();
  EXPECT_EQ(heard, 3);
}

}  // namespace
}  // namespace plimsoll::kube
