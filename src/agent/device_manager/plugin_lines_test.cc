#include "agent/device_manager/plugin_lines.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

Device HealthOf(bool healthy) {
  return {.id = healthy ? "a" : "b", .healthy = healthy, .nodes = std::nullopt};
}

class PluginLinesTest : public ::testing::Test {
 protected:
  std::string Line(const std::string& resource = "example.com/gpu") {
    return lines_.Registered(resource, "/plugins/gpu.sock", {HealthOf(true)}).value_or("none");
  }

  SteadyTime now_ = SteadyNow();
  PluginLines lines_{[this] { return now_; }};
};

TEST_F(PluginLinesTest, ALineHasSocketAndDevices) {
  EXPECT_EQ(Line(),
            "the device plugin of example.com/gpu at /plugins/gpu.sock has registered, with 1 "
            "device");
  EXPECT_EQ(lines_.Registered("example.com/b", "/p/\n.sock", {HealthOf(true), HealthOf(false)}),
            "the device plugin of example.com/b at /p/\\n.sock has registered, with 2 devices, 1 "
            "of them healthy");
  EXPECT_EQ(lines_.Registered("example.com/c", "/c", {}),
            "the device plugin of example.com/c at /c has registered, with 0 devices");
}

TEST_F(PluginLinesTest, APluginInALoopGetsFewLines) {
  for (int i = 0; i < PluginLines::kMostLines; ++i) EXPECT_NE(Line(), "none");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Line(), "none");
  EXPECT_NE(Line("example.com/other"), "none");
  now_ += absl::ToChronoNanoseconds(PluginLines::kWindow);
  EXPECT_EQ(Line(),
            "the device plugin of example.com/gpu at /plugins/gpu.sock has registered, with 1 "
            "device; 1000 registrations before it were not logged");
  EXPECT_EQ(Line(),
            "the device plugin of example.com/gpu at /plugins/gpu.sock has registered, with 1 "
            "device");
}

TEST_F(PluginLinesTest, ManyResourcesAreForgotten) {
  for (int i = 0; i < PluginLines::kMostLines; ++i) EXPECT_NE(Line(), "none");
  EXPECT_EQ(Line(), "none");
  for (int i = 0; i < 256; ++i) EXPECT_NE(Line(absl::StrCat("example.com/r", i)), "none");
  EXPECT_NE(Line(), "none");
}

}  // namespace
}  // namespace plimsoll::agent
