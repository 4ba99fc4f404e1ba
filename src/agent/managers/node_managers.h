// The managers of one node together: CPUs, memory, devices and their alignment. What KEP-5224
// initialises from the runtime's topology.
#ifndef PLIMSOLL_AGENT_MANAGERS_NODE_MANAGERS_H_
#define PLIMSOLL_AGENT_MANAGERS_NODE_MANAGERS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/cpu_manager/cpu_options.h"
#include "agent/cpu_manager/static_cpu_policy.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "agent/topology_manager/topology_manager.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

struct ManagerOptions {
  bool static_cpus = false;  // cpuManagerPolicy: static
  CpuOptions cpu_options;    // cpuManagerPolicyOptions
  CpuReservation reserved_cpus;
  bool static_memory = false;  // memoryManagerPolicy: Static
  MemoryByNode reserved_memory;
  MemoryAmounts reserved_memory_sum;  // of systemReserved and kubeReserved
  TopologyOptions topology;
  // Gate PodLevelResourceManagers: pods with resources of their own (KEP-2837) get CPUs and memory
  // for themselves too; off: they get none, as under a kubelet with its defaults.
  bool pod_level = true;
};

// Immutable: another topology makes another one. Holds no allocation: see AllocationLedger.
class NodeManagers {
 public:
  // FAILED_PRECONDITION of the managers' Make, with the manager's name before it.
  static absl::StatusOr<std::shared_ptr<const NodeManagers>> Make(
      const ManagerOptions& options, std::shared_ptr<const topology::MachineMaps> maps);

  const ManagerOptions& options() const { return options_; }
  const topology::MachineMaps& maps() const { return *maps_; }
  const StaticCpuPolicy* cpus() const { return cpus_ ? &*cpus_ : nullptr; }           // null: none
  const StaticMemoryPolicy* memory() const { return memory_ ? &*memory_ : nullptr; }  // null: None
  const TopologyManager& topology() const { return *topology_; }

 private:
  NodeManagers(ManagerOptions options, std::shared_ptr<const topology::MachineMaps> maps);

  const ManagerOptions options_;
  const std::shared_ptr<const topology::MachineMaps> maps_;
  std::optional<StaticCpuPolicy> cpus_;
  std::optional<StaticMemoryPolicy> memory_;
  std::optional<TopologyManager> topology_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_NODE_MANAGERS_H_
