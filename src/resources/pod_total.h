// What a pod needs in total, by Kubernetes' rules (k8s.io/component-helpers/resource: PodRequests
// and PodLimits).
#ifndef PLIMSOLL_RESOURCES_POD_TOTAL_H_
#define PLIMSOLL_RESOURCES_POD_TOTAL_H_

#include <vector>

#include "resources/requirements.h"

namespace plimsoll::resources {

// Of each resource the larger one of: what the containers and sidecars ask for together; and, for
// each init container in order, what it and the sidecars before it do. What the pod as a whole asks
// for of cpu, memory and hugepages stands in place of that. Then comes `overhead`: on top of every
// request, and of a limit where there is one.
//
// `containers` in the order of the pod, with defaults filled in (WithDefaults). A container without
// a limit adds nothing to the limits' total, which therefore need not bound the pod.
Requirements PodTotal(const std::vector<ContainerRequirements>& containers, const Requirements& pod,
                      const ResourceList& overhead);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_POD_TOTAL_H_
