// A node's resources: status.capacity and status.allocatable.
#ifndef PLIMSOLL_AGENT_NODE_CAPACITY_H_
#define PLIMSOLL_AGENT_NODE_CAPACITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/node/node_options.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

inline constexpr char kEphemeralStorage[] = "ephemeral-storage";
inline constexpr char kPods[] = "pods";

// cpu, memory, hugepages-<size> of each size that the topology names, ephemeral-storage and pods.
// Amounts that are no whole number of CPUs are rounded down (MachineMaps).
ResourceList CapacityOf(const topology::MachineMaps& maps, int64_t storage_bytes, int64_t max_pods);

// The resources for pods: the capacity less what is reserved. Memory also loses all huge pages,
// which its capacity includes, but never falls below zero (kubelet's pkg/kubelet/nodestatus). A
// reserved resource that the node does not have counts for nothing if its amount is zero, and so
// does pid. FAILED_PRECONDITION names the reserved value that is too large, and the capacity.
absl::StatusOr<ResourceList> AllocatableOf(const ResourceList& capacity,
                                           const NodeOptions& options);

// The size of the filesystem at a path.
absl::StatusOr<int64_t> FilesystemBytes(const std::string& path);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_CAPACITY_H_
