// Whether a node has room for a pod (kubelet's predicates, pkg/kubelet/lifecycle).
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_NODE_ROOM_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_NODE_ROOM_H_

#include <optional>
#include <vector>

#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// Stands before the reason's words in a rejected pod's status, and not in its event, as in kubelet.
inline constexpr char kRejected[] = "Pod was rejected: ";

// The pod's containers with limits as requests where these are missing, in the pod's order.
std::vector<resources::ContainerRequirements> ContainersOf(const pod::Manifest& pod);
// The pod's requests by Kubernetes' rules (resources::PodTotal).
resources::ResourceList RequestsOf(const pod::Manifest& pod);
void Add(const resources::ResourceList& requests, resources::ResourceList& sum);

// nullopt: the pod fits. Else the first resource, by name, of which too little is left: "OutOfcpu",
// with kubelet's words. `used` are the requests of all other pods; "pods" is a resource like any
// other. A resource that the node doesn't have is one of capacity 0.
std::optional<PodVerdict> RejectionOf(const resources::ResourceList& requests,
                                      const resources::ResourceList& used,
                                      const resources::ResourceList& allocatable);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_NODE_ROOM_H_
