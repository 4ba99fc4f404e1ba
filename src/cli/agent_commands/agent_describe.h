// The text of `plimsoll describe`. Text from objects is made printable.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_DESCRIBE_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

// `events` are the pod's.
std::string DescribeAgentPod(const KubeObject& pod, const std::vector<KubeObject>& events,
                             absl::Time now);

// `pods` are all of the node's, `events` its own.
std::string DescribeAgentNode(const KubeObject& node, const std::vector<KubeObject>& pods,
                              const std::vector<KubeObject>& events, absl::Time now);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_DESCRIBE_H_
