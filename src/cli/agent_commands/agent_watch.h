// An agent's objects as they change, printed until the client is abandoned.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_WATCH_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_WATCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/client/client.h"
#include "cli/command/command.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

struct ObjectSelection {
  std::vector<std::string> names;  // empty: all
  std::string pod_namespace;       // empty: all; never with names
};

// NOT_FOUND: one of the names.
absl::StatusOr<std::vector<KubeObject>> ReadPods(const agent::AgentClient& client,
                                                 const ObjectSelection& selection);

// Each prints what is there, then what changes: a row, or for programs {"type", "object"}, a line
// of JSON or a document of YAML. They return errors of the client's; CANCELLED once it is
// abandoned.
absl::Status WatchAgentPods(const agent::AgentClient& client, const ObjectSelection& selection,
                            const CommandContext& context);
// By asking every second: the agent has no watch of these.
absl::Status WatchAgentEvents(const agent::AgentClient& client, const ObjectSelection& selection,
                              const CommandContext& context);
absl::Status WatchAgentNode(const agent::AgentClient& client, const CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_WATCH_H_
