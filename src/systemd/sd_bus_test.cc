#include "systemd/sd_bus.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::systemd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SdBus, IsLoadedOnce) {
  ASSERT_TRUE(LoadSdBus().ok());
  sd_bus* bus = nullptr;
  EXPECT_GE(sd_bus_new(&bus), 0);
  EXPECT_EQ(sd_bus_close_unref(bus), nullptr);
  EXPECT_TRUE(LoadSdBus().ok());
}

TEST(SdBus, SaysWhatIsMissing) {
  const absl::Status absent = LoadSdBusFrom("libplimsoll-test-absent.so.0");
  EXPECT_TRUE(absl::IsFailedPrecondition(absent)) << absent;
  EXPECT_THAT(
      std::string(absent.message()),
      AllOf(HasSubstr("libplimsoll-test-absent.so.0: cannot open"), HasSubstr("libsystemd0")));

  ASSERT_TRUE(LoadSdBus().ok());
  const auto before = sd_bus_new;
  const absl::Status other = LoadSdBusFrom("libc.so.6");
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("libc.so.6 lacks sd_bus_"));
  EXPECT_EQ(sd_bus_new, before);
}

}  // namespace
}  // namespace plimsoll::systemd
