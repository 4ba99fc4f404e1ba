// A pod's total requests and limits, by Kubernetes' rules (k8s.io/component-helpers/resource:
// PodRequests and PodLimits).
#ifndef PLIMSOLL_RESOURCES_POD_TOTAL_H_
#define PLIMSOLL_RESOURCES_POD_TOTAL_H_

#include <string>
#include <vector>

#include "resources/requirements.h"

namespace plimsoll::resources {

// Each resource is the larger of two: the sum over containers and sidecars; and, for each init
// container in order, its own amount plus those of the sidecars before it. The pod's own cpu,
// memory and hugepages, where written, replace that. `overhead` is added to every request, and to
// limits that exist.
//
// `containers` come in the order of the pod, with defaults filled in (WithDefaults). A container
// without a limit adds nothing to the limits' total, which therefore need not bound the pod.
Requirements PodTotal(const std::vector<ContainerRequirements>& containers, const Requirements& pod,
                      const ResourceList& overhead);

// Whether the total's limit of `resource` bounds the whole pod: the pod has one of its own, or each
// container has one, an init container also if a sidecar before it has one (kubelet's
// ResourceConfigForPod). A limit of 0 is none. `containers` as PodTotal takes them.
bool IsBounded(const std::vector<ContainerRequirements>& containers, const Requirements& pod,
               const std::string& resource);

// The pod's QoS class. Where the pod has cpu, memory or huge pages of its own, its own amounts
// decide: the class is Guaranteed if it limits cpu and memory and requests as much. A request that
// it lacks is its containers', or else its limit. Both as PodTotal takes them.
QosClass PodQosClass(const std::vector<ContainerRequirements>& containers, const Requirements& pod);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_POD_TOTAL_H_
