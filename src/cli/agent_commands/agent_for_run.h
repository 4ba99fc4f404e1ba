// The agent that takes the pods of `plimsoll run --detach`.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_FOR_RUN_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_FOR_RUN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/client/client.h"
#include "cli/command/command.h"

namespace plimsoll::cli {

struct AgentChoice {
  std::unique_ptr<agent::AgentClient> agent;  // null: none takes them
  std::string why_not;                        // half a sentence
};

// The agent that answers, if its runtime is the one that `run` would use, and its directory of
// ConfigMaps and Secrets is `objects` where that is given. Starts and makes nothing. An agent that
// the command line names must be such a one: else FAILED_PRECONDITION, or the failure of the call.
absl::StatusOr<AgentChoice> ChooseAgent(const CommandContext& context, const std::string& objects);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_FOR_RUN_H_
