#include "cdi/names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CdiNamesTest, ANameHasVendorClassAndDevice) {
  const auto device = ParseDeviceName("vendor-1.com/gpu_a.b=GPU-1:2.x");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->kind, "vendor-1.com/gpu_a.b");
  EXPECT_EQ(device->name, "GPU-1:2.x");
  EXPECT_TRUE(ParseDeviceName("v/c=0").ok());
}

TEST(CdiNamesTest, WhatIsNoNameIsRefused) {
  for (const std::string text :
       {"", "gpu", "vendor.com/gpu", "vendor.com/gpu=", "/gpu=0", "vendor.com/=0", "v.com/a/b=0",
        "1.com/gpu=0", "v.com/0gpu=0", "v.com/gpu=-0", "v.com/gpu=0-", "v.com/gpu=a b",
        "v.com/gpu=a=b", "v.com/gpu=../x", "v.c\xc3\xb6m/gpu=0"}) {
    const auto device = ParseDeviceName(text);
    EXPECT_TRUE(absl::IsInvalidArgument(device.status())) << text;
  }
  EXPECT_FALSE(ParseDeviceName("v.com/" + std::string(64, 'c') + "=0").ok());
  const auto endless = ParseDeviceName("v.com/c=" + std::string(100000, 'n'));
  EXPECT_LT(endless.status().message().size(), 600);
}

TEST(CdiNamesTest, AnnotationsNameDevices) {
  const auto devices = DevicesInAnnotations({{"cdi.k8s.io/gpus", "v.com/gpu=0,v.com/gpu=1"},
                                             {"cdi.k8s.io/other_x", "w.com/net=a"},
                                             {"example.com/cdi.k8s.io", "no"}});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(*devices, ElementsAre("v.com/gpu=0", "v.com/gpu=1", "w.com/net=a"));
  const auto wrong = DevicesInAnnotations({{"cdi.k8s.io/gpus", "v.com/gpu=0,,"}});
  EXPECT_THAT(wrong.status().message(),
              HasSubstr("annotation \"cdi.k8s.io/gpus\": \"\" is no CDI"));
  EXPECT_THAT(*DevicesInAnnotations({}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::cdi
