// The CPUs and NUMA nodes that a pod's containers run on.
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_PLACES_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_PLACES_H_

#include <map>
#include <optional>
#include <string>

#include "agent/managers/pod_grant.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// The container has CPUs that no other one uses.
bool HasExclusiveCpus(const PodGrant& grant, const std::string& container);

// The pod's group has no quota (kubelet's gate DisableCPUQuotaWithExclusiveCPUs): a container has
// CPUs of its own, or each has in a pod with resources of its own, which the others share out.
bool HasExclusiveCpus(const PodGrant& grant, const pod::Manifest& pod);

// A place for each container. CPUs: its own; else those of the pod's own that its siblings leave
// (KEP-2837); else `shared`, where nullopt leaves them to the runtime. Memory: the nodes of its
// blocks, else of the pod's. An ordinary init container runs beside earlier sidecars alone, so that
// it has the CPUs of its later siblings too.
std::map<std::string, pod::ContainerPlace> PlacesOf(const pod::Manifest& pod, const PodGrant& grant,
                                                    const std::optional<resources::CpuSet>& shared);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_PLACES_H_
