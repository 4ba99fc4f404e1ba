// Whether this node takes a pod now.
#ifndef PLIMSOLL_AGENT_POD_ADMISSION_H_
#define PLIMSOLL_AGENT_POD_ADMISSION_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/node/node_view.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// The runtime's classes, as an admission sees them.
struct ClassAdmission {
  bool enabled = true;             // gate ClassResources
  bool pass_unadvertised = false;  // take pods whose types the runtime doesn't list at all
  NodeClasses classes;
};

// UNAVAILABLE: the node has no usable topology, with the reason; it takes no pod. A runtime that is
// away is no hindrance: it takes the pod once it is back.
absl::Status CheckNodeTakesPods(const NodeState& node, const pod::Manifest& pod);

// nullopt: the pod is admitted beside `others`. Errors of CheckNodeTakesPods.
absl::StatusOr<std::optional<PodVerdict>> AdmitPod(const NodeState& node,
                                                   const ClassAdmission& classes,
                                                   const pod::Manifest& pod,
                                                   const std::vector<const pod::Manifest*>& others);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_ADMISSION_H_
