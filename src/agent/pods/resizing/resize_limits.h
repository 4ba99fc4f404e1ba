// Resizes that a node never makes, whatever room it has (kubelet's pkg/kubelet/allocation).
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_LIMITS_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_LIMITS_H_

#include <optional>
#include <string>

#include "agent/managers/node_managers.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// nullopt: nothing stands against it. Else kubelet's words: CPUs or memory of a Guaranteed pod
// beside static managers (its gates InPlacePodVerticalScalingExclusiveCPUs and …ExclusiveMemory are
// off), or memory of a container that may swap and doesn't restart for it. `before`: the resources
// that the pod has. Of `swap`, PodContext's members for swap count.
std::optional<std::string> WhyInfeasible(const pod::Manifest& before, const pod::Manifest& after,
                                         const ManagerOptions& managers,
                                         const pod::PodContext& swap);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_LIMITS_H_
