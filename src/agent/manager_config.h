// The agent's managers of CPUs, memory, topology and devices in its configuration.
#ifndef PLIMSOLL_AGENT_MANAGER_CONFIG_H_
#define PLIMSOLL_AGENT_MANAGER_CONFIG_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "agent/config.h"
#include "agent/managers/node_managers.h"
#include "resources/requirements.h"
#include "yaml/reader.h"

namespace plimsoll::agent {

// Reads the keys cpuManager*, reservedSystemCPUs, memoryManagerPolicy, reservedMemory,
// topologyManager*, devicePluginPath, pluginRegistryPath and podResourcesPath of the mapping:
//
//   cpuManagerPolicy: static
//   cpuManagerPolicyOptions: {full-pcpus-only: "true"}
//   reservedSystemCPUs: 0-1
//   memoryManagerPolicy: Static
//   reservedMemory:
//   - {numaNode: 0, limits: {memory: 1Gi}}
void ReadManagers(YamlReader& reader, YamlMapping& mapping, AgentConfig& config);
// Adds these keys to the object, with the values of `config`.
void ShowManagers(const AgentConfig& config, nlohmann::json& object);

// The managers that the configuration asks for. INVALID_ARGUMENT, as kubelet refuses to start: an
// unknown option, options of policy none, policy static without a reserved CPU (unless the
// runtime's topology may leave CPUs to the system: StaticCpuPolicy::Make judges then), policy
// Static without reserved memory or with reservations whose sums differ from those of
// systemReserved and kubeReserved, reservedSystemCPUs beside a cgroup of reserved resources.
absl::StatusOr<ManagerOptions> ManagerOptionsOf(const AgentConfig& config);

// The reservation within the node's CPUs, on a machine with the online CPUs `machine`. Reserved
// CPUs outside of the node (plimsolld's nodeResources.cpus) belong to the system and count nothing.
// FAILED_PRECONDITION: a reserved CPU is in neither.
absl::StatusOr<CpuReservation> ReservationWithin(const CpuReservation& asked,
                                                 const resources::CpuSet& node,
                                                 const resources::CpuSet& machine);

// systemReserved and kubeReserved, in which the number of reservedSystemCPUs stands for both of
// their amounts of cpu; and their sum.
resources::ResourceList SystemReservedOf(const AgentConfig& config);
resources::ResourceList KubeReservedOf(const AgentConfig& config);
resources::ResourceList ReservedOf(const AgentConfig& config);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGER_CONFIG_H_
