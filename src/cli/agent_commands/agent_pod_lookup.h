// One pod of the agent's, by the name that the user typed.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_LOOKUP_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/client/client.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

// NOT_FOUND has a hint: the namespace that has a pod of this name, or the closest name of this
// namespace, where there is one. Other errors are the client's.
absl::StatusOr<KubeObject> GetAgentPod(const agent::AgentClient& client,
                                       const std::string& pod_namespace, const std::string& name);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_LOOKUP_H_
