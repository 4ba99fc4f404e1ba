// The pods that hold CPUs, memory or devices of the node, for reports.
#ifndef PLIMSOLL_AGENT_PODS_HOLDERS_H_
#define PLIMSOLL_AGENT_PODS_HOLDERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "agent/managers/allocation_report.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

class AgentPods;

// Pods that have not ended, or whose containers may still use what they were given. Of one that
// can't be read only containers that were given something are known.
std::vector<ReportedPod> Holders(const AgentPods& pods);

// The same of any pod; the grant of one that has ended is empty. NOT_FOUND in kubelet's words.
absl::StatusOr<ReportedPod> HolderOf(const AgentPods& pods, const PodKey& pod);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_HOLDERS_H_
