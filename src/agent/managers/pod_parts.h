// A pod's own CPUs and memory (KEP-2837), divided among its containers.
#ifndef PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_
#define PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/managers/pod_demand.h"
#include "agent/managers/pod_grant.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Chooses a container's own CPUs, as many as it demands, of a pool; fewer if the pool has fewer.
using TakeCpus = std::function<absl::StatusOr<resources::CpuSet>(const ContainerDemand& container,
                                                                 const resources::CpuSet& pool)>;

// Divides grant.pod.cpus: gives containers those of their own. Those of ordinary init containers
// overlap with later ones. Errors of `take`; the grant may have changed.
absl::Status DivideCpus(const PodDemand& demand, const TakeCpus& take, PodGrant& grant);

// Divides grant.pod.memory likewise.
void DivideMemory(const PodDemand& demand, PodGrant& grant);

// Containers that have nothing leave the grant.
void DropEmpty(PodGrant& grant);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_
