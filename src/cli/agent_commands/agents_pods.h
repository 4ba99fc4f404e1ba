// Pods that an agent looks after, for commands that would stop or remove them behind its back.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENTS_PODS_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENTS_PODS_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/client/client.h"
#include "cli/command/command.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

// A pod must be removable though its agent hangs.
inline constexpr absl::Duration kAgentsPodsPatience = absl::Seconds(5);

// Thread-safe. Talks to the agent only about pods with an agent's label, and no more once it gave
// no answer in time.
class AgentsPods {
 public:
  // The agent of the command line. INVALID_ARGUMENT as AgentOf. `patience`: of the client.
  static absl::StatusOr<AgentsPods> Of(const CommandContext& context,
                                       absl::Duration patience = kAgentsPodsPatience);

  // FAILED_PRECONDITION, with the command that removes the pod: the agent has it. OK for all other
  // pods, also for those of an agent that doesn't answer, and for those that it is deleting.
  absl::Status CheckFree(const cri::PodSandbox& pod) const;
  // Takes the pods that are not free out of the list, with a note about each.
  void LeaveOut(std::vector<cri::PodSandbox>& pods) const;

 private:
  explicit AgentsPods(std::unique_ptr<agent::AgentClient> agent) : agent_(std::move(agent)) {}
  std::unique_ptr<agent::AgentClient> agent_;
  // The agent gave no answer in time. On the heap because atomics can't be moved.
  std::unique_ptr<std::atomic<bool>> hangs_ = std::make_unique<std::atomic<bool>>(false);
};

// The command that removes a pod with its containers: "plimsoll rm --force d244...", or `plimsoll
// delete` where the pod has an agent's label.
std::string RemovalCommand(const cri::PodSandbox& pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENTS_PODS_H_
