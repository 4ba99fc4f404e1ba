// Admission policies about classes, in CEL: no webhook's server.
#ifndef PLIMSOLL_KUBE_MANIFESTS_POLICIES_H_
#define PLIMSOLL_KUBE_MANIFESTS_POLICIES_H_

#include <string>
#include <vector>

#include "qos/class_devices.h"

namespace plimsoll::kube {

// Class annotations of a pod become extended resources at its creation, by the precedence of
// qos/annotations.h. Classes that `classes` doesn't hold are left to PodPolicies, which refuse
// them.
std::string MutationPolicy(const std::vector<qos::ClassId>& classes);

// Names and places of annotations, class resources of containers, the namespace's list; later
// changes; hints about annotations without effect; claims' DeviceClasses, and pods that share a
// claim. `closed`: a namespace
// without a list may use no class.
std::vector<std::string> PodPolicies(const std::vector<qos::ClassId>& classes, bool closed);

// Binds each plimsoll-kube to its own node's objects, by its token's node.
std::vector<std::string> OwnNodePolicies(const std::string& name_space);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_POLICIES_H_
