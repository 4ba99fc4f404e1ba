// The text of `plimsoll describe`. Text from objects is made printable.
#ifndef PLIMSOLL_CLI_AGENT_DESCRIBE_H_
#define PLIMSOLL_CLI_AGENT_DESCRIBE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace plimsoll::cli {

// `events` are the pod's.
std::string DescribePod(const nlohmann::json& pod, const std::vector<nlohmann::json>& events,
                        absl::Time now);

// `pods` are all of the node's, `events` its own.
std::string DescribeNode(const nlohmann::json& node, const std::vector<nlohmann::json>& pods,
                         const std::vector<nlohmann::json>& events, absl::Time now);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_DESCRIBE_H_
