// The admission of one pod by the managers, in kubelet's order (pkg/kubelet/cm/topologymanager,
// scope_*.go): device manager, CPU manager, memory manager.
#ifndef PLIMSOLL_AGENT_MANAGERS_POD_ALLOCATION_H_
#define PLIMSOLL_AGENT_MANAGERS_POD_ALLOCATION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/device_manager/device_stock.h"
#include "agent/managers/holdings.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_demand.h"
#include "agent/managers/pod_grant.h"
#include "agent/topology_manager/hint.h"

namespace plimsoll::agent {

struct AllocationRejection {
  std::string reason;   // "TopologyAffinityError", "SMTAlignmentError", …
  std::string message;  // kubelet's words
};

// For one admission. Everything that is passed outlives it.
class PodAllocation {
 public:
  // `held`: by other pods. `wish` may be null.
  PodAllocation(const NodeManagers& managers, const DeviceStock& devices,
                const PreferDevices& prefer, const Holdings& held, const PodDemand& demand,
                const PodGrant* wish);

  // Called once.
  std::optional<AllocationRejection> Run();
  PodGrant grant() && { return std::move(grant_); }

 private:
  std::optional<AllocationRejection> AllocateByContainer();
  std::optional<AllocationRejection> AllocateByPod();
  std::optional<AllocationRejection> Allocate(const ContainerDemand& container, const Hint& hint);
  absl::Status AllocateDevices(const ContainerDemand& container, const Hint& hint);
  absl::Status AllocateCpus(const ContainerDemand& container, const Hint& hint);
  absl::Status AllocateMemory(const ContainerDemand& container, const Hint& hint);
  // A pod's own CPUs and memory, and their parts.
  std::optional<AllocationRejection> AllocateOwnCpus(const Hint& hint);
  std::optional<AllocationRejection> AllocateOwnMemory(const Hint& hint);

  ResourceHints DeviceHintsOf(const Demand& demand, const std::string& container,
                              HintChoice choice) const;
  ResourceHints CpuHints(const Demand& demand, const std::string& container,
                         HintChoice choice) const;
  ResourceHints MemoryHints(const Demand& demand, const std::string& container,
                            HintChoice choice) const;
  TopologyManager::Decision Decide(const Demand& demand, const std::string& container) const;

  DeviceRequest RequestOf(const std::string& resource, int64_t count,
                          const std::string& container) const;
  bool IsDevice(const std::string& resource) const;
  resources::CpuSet FreeCpus() const;
  std::vector<MemoryBlock> UsedMemory() const;
  std::vector<MemoryBlock*> EndedMemory();
  std::vector<MemoryBlock> ReusableMemory() const;
  const ContainerGrant* WishOf(const std::string& container) const;
  // The wish for a container ("": the pod as a whole), if all of it can be had; else null, nullopt,
  // or nothing.
  const ContainerGrant* CpuWish(const std::string& container, int64_t count) const;
  std::optional<NodeMask> MemoryWish(const std::string& container,
                                     const MemoryAmounts& request) const;
  DeviceIds DeviceWish(const std::string& container, const DeviceRequest& request) const;
  // Whether the topology policy permits a wish for these CPUs with a hint for these nodes.
  bool MayBeAt(const resources::CpuSet& cpus, std::optional<NodeMask> nodes) const;
  bool OwnsResources() const { return managers_.options().pod_level && demand_.has_own_resources; }

  const NodeManagers& managers_;
  const DeviceStock& stock_;
  const PreferDevices& prefer_;
  const Holdings& held_;
  const PodDemand& demand_;
  const PodGrant* const wish_;
  PodGrant grant_;
  // CPUs of ordinary init containers that have ended by then, if no other container has them.
  resources::CpuSet reusable_cpus_;
  std::map<std::string, DeviceIds> reusable_devices_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_POD_ALLOCATION_H_
