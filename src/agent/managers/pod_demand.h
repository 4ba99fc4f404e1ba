// Demands of a pod's containers for themselves: the reading of kubelet's static policies of
// a pod's requests (guaranteedCPUs, podGuaranteedCPUs, getContainerRequestedResources, … of
// pkg/kubelet/cm).
#ifndef PLIMSOLL_AGENT_MANAGERS_POD_DEMAND_H_
#define PLIMSOLL_AGENT_MANAGERS_POD_DEMAND_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/memory_manager/static_memory_policy.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// The demand of one container, or of a pod as a whole.
struct Demand {
  int64_t cpus = 0;                     // exclusive ones; 0: it shares
  std::optional<MemoryAmounts> memory;  // nullopt: static memory doesn't concern it
  bool has_odd_memory = false;          // an amount is no whole number of bytes; `memory` is empty
  std::map<std::string, int64_t> devices;  // by extended resource
};

struct ContainerDemand : Demand {
  std::string name;
  resources::ContainerRequirements::Role role = resources::ContainerRequirements::Role::kContainer;

  // Ends before the containers after it start: these get what it had.
  bool IsOrdinaryInit() const { return role == resources::ContainerRequirements::Role::kInit; }
};

struct PodDemand {
  bool has_own_resources = false;  // KEP-2837
  // The pod's demand at the moment when it needs most.
  Demand pod;
  std::vector<ContainerDemand> containers;  // in the pod's order
};

// `pod_level`: ManagerOptions::pod_level. Policies are not looked at: the demand is that of a node
// with static ones.
PodDemand DemandOf(const pod::Manifest& pod, bool pod_level);

// Why pods with resources of their own can't be divided: containers without CPUs (or memory) of
// their own would be left with none (kubelet's validatePodScopeResources). Empty: nothing is wrong.
std::string CpuPoolFault(const PodDemand& demand);
std::string MemoryPoolFault(const PodDemand& demand);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_POD_DEMAND_H_
