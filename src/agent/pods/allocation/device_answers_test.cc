#include "agent/pods/allocation/device_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pods/allocation/fake_devices_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceAnswersTest : public testing::Test {
 protected:
  DeviceAnswersTest() {
    grant_.devices = {{"a", {{"example.com/gpu", {"g0", "g1"}}, {"example.com/nic", {"n0"}}}},
                      {"b", {{"example.com/gpu", {"g2"}}}}};
  }
  FakeDevices devices_;
  PodGrant grant_;
};

TEST_F(DeviceAnswersTest, EachResourceOfEachContainerIsAskedForOnce) {
  const auto answers = AskForDevices(&devices_, grant_);
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_THAT(devices_.Calls(),
              ElementsAre("Allocate example.com/gpu g0,g1", "Allocate example.com/nic n0",
                          "Allocate example.com/gpu g2"));
  EXPECT_EQ(answers->at("a").nodes.size(), 3u);
  EXPECT_EQ(answers->at("b").env.at("DEVICES"), "g2");

  grant_.device_answers = *answers;
  EXPECT_EQ(*AskForDevices(&devices_, grant_), *answers);
  EXPECT_EQ(devices_.Count("Allocate"), 3) << "the answers on record are used again";
  EXPECT_EQ(*AskForDevices(nullptr, grant_), *answers);
}

TEST_F(DeviceAnswersTest, APluginThatIsAwayIsNamedAndARefusalKeepsItsWords) {
  devices_.Answer("Allocate", absl::UnavailableError("gone"));
  EXPECT_EQ(AskForDevices(&devices_, grant_).status(),
            absl::UnavailableError("container a: example.com/gpu: gone"));
  devices_.Answer("Allocate", absl::InternalError("rpc error: broken"));
  EXPECT_EQ(AskForDevices(&devices_, grant_).status(), absl::InternalError("rpc error: broken"));
  EXPECT_TRUE(absl::IsFailedPrecondition(AskForDevices(nullptr, grant_).status()));
}

TEST_F(DeviceAnswersTest, StartsAreToldOfAContainersOwnDevices) {
  EXPECT_TRUE(TellDevicesOfStart(&devices_, grant_, "b").ok());
  EXPECT_TRUE(TellDevicesOfStart(&devices_, grant_, "c").ok());
  EXPECT_TRUE(TellDevicesOfStart(nullptr, grant_, "b").ok());
  EXPECT_THAT(devices_.Calls(), ElementsAre("PreStart example.com/gpu g2"));
  devices_.Answer("PreStart", absl::UnavailableError("gone"));
  EXPECT_EQ(TellDevicesOfStart(&devices_, grant_, "b"),
            absl::UnavailableError("example.com/gpu: gone"));
}

TEST_F(DeviceAnswersTest, AContainerWithLessOnRecordThanItRequestsDoesNotStart) {
  const auto pods = pod::ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: b, image: i, "
      "resources: {limits: {example.com/gpu: 2}}}]}}",
      "p.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const absl::Status status =
      CheckDevices(StockOf("example.com/gpu", {"g2"}), pods->front(), grant_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("container b requests 2 of example.com/gpu"));
  grant_.devices["b"]["example.com/gpu"].push_back("g3");
  EXPECT_TRUE(CheckDevices(StockOf("example.com/gpu", {"g2"}), pods->front(), grant_).ok());
}

TEST_F(DeviceAnswersTest, ADeviceThatWentForGoodIsNamed) {
  DeviceStock stock = StockOf("example.com/gpu", {"g0", "g2"});
  EXPECT_EQ(CheckPresence(stock, grant_),
            absl::FailedPreconditionError(
                "container a has device g1 of example.com/gpu, which is no longer among the "
                "devices of the configuration or of its plugin"));
  stock["example.com/gpu"].is_served = false;
  EXPECT_TRUE(CheckPresence(stock, grant_).ok()) << "its plugin may come back";
  EXPECT_TRUE(CheckPresence({}, grant_).ok());
}

TEST_F(DeviceAnswersTest, HealthIsThePluginsWord) {
  DeviceStock stock = StockOf("example.com/gpu", {"g0", "g1"});
  stock["example.com/gpu"].devices[1].healthy = false;
  EXPECT_EQ(DeviceHealthOf(stock, "example.com/gpu", "g0"), "Healthy");
  EXPECT_EQ(DeviceHealthOf(stock, "example.com/gpu", "g1"), "Unhealthy");
  EXPECT_EQ(DeviceHealthOf(stock, "example.com/gpu", "g2"), "Unknown");
  EXPECT_EQ(DeviceHealthOf(stock, "example.com/nic", "n0"), "Unknown");
}

}  // namespace
}  // namespace plimsoll::agent
