// Who may have which QoS classes: the gate ClassResources, and quotas of namespaces (KEP-3008
// "Access control").
#ifndef PLIMSOLL_AGENT_CLASS_ACCESS_H_
#define PLIMSOLL_AGENT_CLASS_ACCESS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/config.h"
#include "agent/pods/classes/class_requests.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Whether a pod may have its classes beside `others`. `before` is what a living pod was so far,
// null for a new one; OK for one whose classes stay. `root` is "/".
//
// INVALID_ARGUMENT: it has `resources.classes` while the gate is off; PERMISSION_DENIED: it is over
// a quota; UNAVAILABLE: the quotas can't be read; FAILED_PRECONDITION: a living pod can't get these
// classes from this runtime, CheckClassChange or ClassRejection say why. Whether the node has a new
// pod's classes is for its admission. Errors of `node`.
absl::Status CheckClassAccess(const AgentConfig& config, const FsRoot& root,
                              absl::FunctionRef<absl::StatusOr<NodeClasses>()> node,
                              const pod::Manifest* before, const pod::Manifest& pod,
                              const std::vector<const pod::Manifest*>& others);

// The v1 ResourceQuotas of a namespace, empty for all. `used` has the classes of one namespace's
// pods. UNAVAILABLE as above.
absl::StatusOr<std::vector<nlohmann::json>> QuotaObjects(
    const AgentConfig& config, const FsRoot& root, const std::string& pod_namespace,
    absl::FunctionRef<NodeClassUse(const std::string& pod_namespace)> used);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CLASS_ACCESS_H_
