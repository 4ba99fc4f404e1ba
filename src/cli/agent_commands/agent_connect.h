// The agent that a command talks to.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_CONNECT_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_CONNECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/client/client.h"
#include "cli/command/command.h"

namespace plimsoll::cli {

// Between two looks of a command that waits for something of the agent's.
inline constexpr absl::Duration kLookInterval = absl::Milliseconds(100);

// A client of the agent at --agent, else PLIMSOLL_AGENT, else the usual socket. Connects to
// nothing yet. INVALID_ARGUMENT: that is no path. `patience`: of the client.
absl::StatusOr<std::unique_ptr<agent::AgentClient>> AgentOf(
    const CommandContext& context, absl::Duration patience = agent::AgentClientOptions().patience);

// An error of the client's, with a hint: how to start an agent, and `instead`, a sentence about the
// command that needs none, where there is such a one.
absl::Status WithAgentHint(const absl::Status& status, absl::string_view instead = "");

// "--namespace" of a command.
void AddNamespaceOption(CLI::App& command, std::string* pod_namespace);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_CONNECT_H_
