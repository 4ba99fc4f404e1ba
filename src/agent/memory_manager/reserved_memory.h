// The memory of each NUMA node for pods.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_RESERVED_MEMORY_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_RESERVED_MEMORY_H_

#include "absl/status/statusor.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// Arguments and errors are those of StaticMemoryPolicy::Make.
absl::StatusOr<MemoryByNode> AllocatableMemory(const topology::MachineMaps& maps,
                                               const MemoryByNode& reservations,
                                               const MemoryAmounts& reserved);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_RESERVED_MEMORY_H_
