// Requests and limits of v1 Pods, summed as the scheduler does.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_RESOURCES_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_RESOURCES_H_

#include <map>

#include <string>
#include <vector>

#include "cli/terminal/object_fields.h"
#include "resources/quantity.h"

namespace plimsoll::cli {

using Amounts = std::map<std::string, resources::Quantity>;

enum class AmountKind { kRequests, kLimits };

// The amounts of one container's `resources`. A request that is not given is the limit.
// Unreadable amounts are left out.
Amounts AmountsOf(const KubeObject& resources, AmountKind kind);

// A pod's: the containers and sidecars together, or an init container beside the sidecars before
// it, whichever is more; the pod's own resources (KEP-2837) in place of that sum; and the overhead.
// While a resize is under way or waits, the most of what was asked for, is allocated and is in
// force counts; what an infeasible one asked for does not.
Amounts PodAmounts(const KubeObject& pod, AmountKind kind);

// The sum of all pods that haven't ended.
Amounts SumOfPods(const std::vector<KubeObject>& pods, AmountKind kind);

// "1.5 GiB" for memory, hugepages and storage, "1500m" for others.
std::string AmountText(const std::string& resource, const resources::Quantity& amount);
// AmountText of the named one; 0 where it isn't there.
std::string AmountText(const Amounts& amounts, const std::string& resource);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_RESOURCES_H_
