// For tests of plimsoll-agent over a plimsolld of their own.
#ifndef PLIMSOLL_TESTS_HARNESS_NODE_AGENT_H_
#define PLIMSOLL_TESTS_HARNESS_NODE_AGENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_replace.h"
#include "harness/agent.h"
#include "harness/node.h"

namespace plimsoll::testing {

// The daemon runs from SetUp on. The agent starts with Begin, and is killed before the daemon ends.
class NodeAgentTest : public NodeTest {
 protected:
  // Further lines of both configurations; "@" in the agent's stands for the daemon's directory,
  // which is the agent's too unless it is given.
  explicit NodeAgentTest(const std::string& agent_config, const std::string& daemon_config = "",
                         const std::string& agent_directory = "")
      : NodeTest(daemon_config),
        agent_(agent_directory.empty() ? node_.directory() : agent_directory, node_.address(),
               absl::StrReplaceAll(agent_config, {{"@", node_.directory()}})) {}
  void TearDown() override {
    if (agent_.runs()) agent_.Kill();
    NodeTest::TearDown();
  }

  // Each fails the test on an error.
  void Begin() {
    const absl::Status started = agent_.Start();
    ASSERT_TRUE(started.ok()) << started << "\n" << agent_.Log();
  }
  void Restart() {
    agent_.Kill();
    Begin();
  }
  void Apply(const std::string& manifest) {
    const auto applied = agent_.client().Apply(manifest);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  // Asks for the pod's end; nullopt: after its own grace period.
  void Delete(const std::string& pod, std::optional<int64_t> grace_s = std::nullopt) {
    const absl::Status deleted = agent_.client().Delete("default", pod, grace_s);
    ASSERT_TRUE(deleted.ok()) << deleted;
  }
  // Waits for the end as well.
  void Remove(const std::string& pod) {
    ASSERT_NO_FATAL_FAILURE(Delete(pod, 1));
    ASSERT_TRUE(agent_.AwaitGone(pod));
  }
  bool HasEvent(const std::string& pod, const std::string& reason) const {
    return !agent_.Event(pod, reason).is_null();
  }

  AgentProcess agent_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_NODE_AGENT_H_
