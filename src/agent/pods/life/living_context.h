// The facts of a pod's surroundings that change while it lives.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_LIVING_CONTEXT_H_
#define PLIMSOLL_AGENT_PODS_LIFE_LIVING_CONTEXT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// kubelet's critical pods: those of files, and those of a system priority.
bool IsCritical(const PodRecord& record);

// The node's amounts; the kernel's memory where the node has none. Errors of /proc/meminfo.
absl::StatusOr<NodeAmounts> AmountsOf(const PodHost& host);

// The kind of limits in a sandbox's request. Without a group of the agent's plimsolld makes the
// pod's, and holds it to them; other runtimes get those that kubelet would send. May ask the
// runtime its name.
pod::SandboxLimits SandboxLimitsOf(const PodHost& host);

// Fills in amounts, swap, and the containers' places by the record's grant. UNAVAILABLE: the
// managers aren't known yet. Else errors of AmountsOf. An error leaves the context as it was.
absl::Status AddLiving(const PodHost& host, const PodRecord& record, const pod::Manifest& pod,
                       pod::PodContext& context);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_LIVING_CONTEXT_H_
