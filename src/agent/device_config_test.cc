#include "agent/device_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

TEST(DeviceConfigTest, BothKindsAreRead) {
  const auto config = ParseConfig(
      "devices:\n  example.com/gpu: [{cdi: v.com/gpu=0}, {cdi: v.com/gpu=1, numaNode: 63}]\n"
      "  example.com/serial:\n  - {path: /dev/ttyS0}\n"
      "  - {path: /dev/ttyS1, containerPath: /dev/serial, permissions: rwm}\n"
      "  example.com/none: []\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->devices.at("example.com/gpu")[1].id(), "v.com/gpu=1");
  EXPECT_EQ(config->devices.at("example.com/gpu")[0].numa_node, std::nullopt);
  EXPECT_EQ(config->devices.at("example.com/gpu")[1].numa_node, 63u);
  const auto& serial = config->devices.at("example.com/serial");
  ASSERT_EQ(serial.size(), 2u);
  EXPECT_EQ(serial[0].id(), "/dev/ttyS0");
  EXPECT_EQ(serial[0].node.container_path, "/dev/ttyS0");
  EXPECT_EQ(serial[0].node.permissions, "rw");
  EXPECT_EQ(serial[1].node.container_path, "/dev/serial");
  EXPECT_EQ(serial[1].node.permissions, "rwm");
  EXPECT_TRUE(config->devices.at("example.com/none").empty());
}

struct WrongDevices {
  const char* text;
  const char* message;
};
class DeviceConfigMistakeTest : public testing::TestWithParam<WrongDevices> {};

TEST_P(DeviceConfigMistakeTest, IsNamedWithItsPlace) {
  const absl::Status status = ParseConfig(GetParam().text, "f.yaml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceConfigMistakeTest,
    testing::Values(
        WrongDevices{"devices: {cpu: []}", "\"cpu\" is no extended resource"},
        WrongDevices{"devices: {kubernetes.io/x: []}", "is no extended resource"},
        WrongDevices{"devices: {node.kubernetes.io/x: []}", "is no extended resource"},
        WrongDevices{"devices: {example.com/x: {cdi: a.com/b=c}}", "must be a list"},
        WrongDevices{"devices: {example.com/x: [{}]}", "devices.example.com/x[0]: needs either"},
        WrongDevices{"devices: {example.com/x: [{cdi: a.com/b=c, path: /dev/a}]}", "needs either"},
        WrongDevices{"devices: {example.com/x: [{cdi: gpu0}]}", "\"gpu0\" is no CDI device"},
        WrongDevices{"devices: {example.com/x: [{cdi: a.com/b=c, permissions: r}]}",
                     "belong to path"},
        WrongDevices{"devices: {example.com/x: [{path: dev/a}]}", "must be an absolute path"},
        WrongDevices{"devices: {example.com/x: [{path: /dev/a, containerPath: b}]}",
                     "containerPath: must be an absolute path"},
        WrongDevices{"devices: {example.com/x: [{path: /dev/a, permissions: rx}]}",
                     "must be of r, w and m"},
        WrongDevices{"devices: {example.com/x: [{path: /dev/a, mode: rw}]}", "mode"},
        WrongDevices{"devices: {example.com/x: [{path: /dev/a, numaNode: 64}]}", "numaNode"},
        WrongDevices{"devices: {requests.example.com/x: []}", "is no extended resource"},
        WrongDevices{"devices: {e.com/x: [{path: /dev/a}], e.com/y: [{path: /dev/a}]}",
                     "is also of e.com/x"}));

}  // namespace
}  // namespace plimsoll::agent
