// Pods that an agent looks after, for commands that would stop or remove them behind its back.
#ifndef PLIMSOLL_CLI_AGENTS_PODS_H_
#define PLIMSOLL_CLI_AGENTS_PODS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/client/client.h"
#include "cli/api.h"
#include "cli/command.h"

namespace plimsoll::cli {

// Thread-safe. Talks to the agent only about pods with an agent's label.
class AgentsPods {
 public:
  // The agent of the command line. INVALID_ARGUMENT as AgentOf.
  static absl::StatusOr<AgentsPods> Of(const CommandContext& context);

  // FAILED_PRECONDITION, with the command that ends the pod: the agent has it, and would start it
  // again. OK for all other pods, also for those of an agent that doesn't answer, and for those
  // that it is deleting.
  absl::Status CheckFree(const cri::PodSandbox& pod) const;
  // Takes the pods that are not free out of the list, with a note about each.
  void LeaveOut(std::vector<cri::PodSandbox>& pods) const;

 private:
  explicit AgentsPods(std::unique_ptr<agent::Client> agent) : agent_(std::move(agent)) {}
  std::unique_ptr<agent::Client> agent_;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENTS_PODS_H_
