#include "agent/pod_admission.h"

#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/records/pod_key.h"
#include "base/status.h"

namespace plimsoll::agent {

absl::Status CheckNodeTakesPods(const NodeState& node, const pod::Manifest& pod) {
  if (node.ready || node.reason == kNodeNotReadyReason) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(PodName({pod.pod_namespace, pod.name}),
                   " can't be taken: the node is not ready: ", node.reason, ": ", node.message));
}

absl::StatusOr<std::optional<PodVerdict>> AdmitPod(
    const NodeState& node, const ClassAdmission& classes, const pod::Manifest& pod,
    const std::vector<const pod::Manifest*>& others) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNodeTakesPods(node, pod));
  resources::ResourceList used;
  NodeClassUse class_use;
  for (const pod::Manifest* each : others) {
    Add(RequestsOf(*each), used);
    class_use.Add(RequestedClasses(*each));
  }
  std::optional<PodVerdict> rejection = RejectionOf(RequestsOf(pod), used, node.allocatable);
  if (rejection || !classes.enabled) return rejection;
  const bool lists_none = classes.classes.pod.empty() && classes.classes.container.empty();
  if (lists_none && classes.pass_unadvertised) return rejection;
  return ClassRejection(RequestedClasses(pod), class_use, classes.classes);
}

}  // namespace plimsoll::agent
