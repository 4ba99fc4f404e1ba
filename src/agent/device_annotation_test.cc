#include "agent/device_annotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

NodeDevices DevicesOfTest() {
  return {{"example.com/gpu",
           {{.cdi_name = "vendor.com/gpu=0", .node = {}, .numa_node = std::nullopt}}},
          {"example.com/serial", {{.cdi_name = "", .node = {}, .numa_node = std::nullopt}}}};
}

std::optional<PodVerdict> VerdictOn(const std::string& key, const std::string& value) {
  pod::Manifest pod;
  pod.annotations = {{key, value}, {"other.dev/cdi", "vendor.com/gpu=0"}};
  return CountedDeviceRejection(pod, DevicesOfTest());
}

TEST(DeviceAnnotationTest, ADeviceOfTheConfigurationIsGotByARequest) {
  for (const auto& [key, value] :
       {std::pair("plimsoll.dev/cdi", "vendor.com/gpu=0"),
        std::pair("plimsoll.dev/cdi.app", "vendor.com/nic=1, vendor.com/gpu=0")}) {
    const auto verdict = VerdictOn(key, value);
    ASSERT_TRUE(verdict.has_value()) << key;
    EXPECT_EQ(verdict->reason, "CountedDevice");
    EXPECT_EQ(verdict->message,
              absl::StrCat("Pod was rejected: annotation ", key,
                           " names vendor.com/gpu=0, which is a device of example.com/gpu in the "
                           "agent's configuration and may be another pod's; a request of "
                           "example.com/gpu gives the pod such a device"));
  }
}

TEST(DeviceAnnotationTest, OtherDevicesAreTheAnnotations) {
  EXPECT_FALSE(VerdictOn("plimsoll.dev/cdi", "vendor.com/gpu=1,vendor.com/nic=0").has_value());
  EXPECT_FALSE(VerdictOn("plimsoll.dev/cdi", "").has_value());
  EXPECT_FALSE(VerdictOn("plimsoll.dev/cdix", "vendor.com/gpu=0").has_value());
  pod::Manifest pod;
  pod.annotations = {{"plimsoll.dev/cdi", "vendor.com/gpu=0"}};
  EXPECT_FALSE(CountedDeviceRejection(pod, {}).has_value());
}

}  // namespace
}  // namespace plimsoll::agent
