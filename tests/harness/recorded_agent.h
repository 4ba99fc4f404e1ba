// For tests of plimsoll-agent over a runtime that runs nothing.
#ifndef PLIMSOLL_TESTS_HARNESS_RECORDED_AGENT_H_
#define PLIMSOLL_TESTS_HARNESS_RECORDED_AGENT_H_

#include <string>

#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "harness/agent.h"
#include "harness/recording_runtime.h"

namespace plimsoll::testing {

// The agent runs from SetUp on.
class RecordedAgentTest : public ::testing::Test {
 protected:
  // Further lines of its configuration.
  explicit RecordedAgentTest(const std::string& config = "cgroupsPerQOS: false\n")
      : agent_(directory_.path(), runtime_.address(), config) {}
  void SetUp() override { Begin(); }

  // Each fails the test on an error.
  void Begin() {
    const absl::Status started = agent_.Start();
    ASSERT_TRUE(started.ok()) << started << "\n" << agent_.Log();
  }
  void Apply(const std::string& manifest) {
    const auto applied = agent_.client().Apply(manifest);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }

  TestDir directory_;
  RecordingRuntime runtime_{directory_.path()};
  AgentProcess agent_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_RECORDED_AGENT_H_
