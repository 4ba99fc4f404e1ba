// A pod's own CPUs and memory (KEP-2837), divided among its containers.
#ifndef PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_
#define PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/managers/pod_demand.h"
#include "agent/managers/pod_grant.h"
#include "agent/topology_manager/node_mask.h"
#include "resources/cpu_set.h"
#include "resources/requirements.h"

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

struct PodPart {
  std::string container;
  resources::ContainerRequirements::Role role = resources::ContainerRequirements::Role::kContainer;
  bool operator==(const PodPart&) const = default;
};

// The CPUs of the pod's own for container `index`, in the pod's order, if it has none for itself:
// those that are left by the siblings beside which it runs, or all of the pod's where nothing is
// left, as after losses of hot-plug. An ordinary init container runs beside earlier sidecars alone.
// Empty: the pod has no CPUs of its own.
resources::CpuSet CpusInPod(const PodGrant& grant, const std::vector<PodPart>& containers,
                            size_t index);
// The NUMA nodes of the container's memory, else of the pod's. An empty name: the pod's.
NodeMask MemoryNodesOf(const PodGrant& grant, const std::string& container);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_POD_PARTS_H_
