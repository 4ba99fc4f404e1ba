// A container of a pod takes over the memory of the pod's init containers that have ended by the
// time it starts, as far as it has the same nodes. Their blocks shrink by as much, so that the sum
// of all blocks is always what is in use.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_REUSED_MEMORY_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_REUSED_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/memory_manager/static_memory_policy.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// To be called with the blocks that StaticMemoryPolicy::Allocate has given. `earlier`: the blocks
// that it had as `reusable`, in the same order: those of the pod's init containers before the new
// container, without containers that restart (sidecars), in the pod's order. A block that is taken
// over wholly stays with 0 bytes: as kubelet sees it, its nodes are in use until its container is
// gone.
void TakeOver(const std::vector<MemoryBlock>& given, const std::vector<MemoryBlock*>& earlier);

// The bytes that a block of the resource at these nodes can take over.
int64_t ReusableBytes(const std::vector<MemoryBlock>& reusable, const std::string& resource,
                      NodeMask nodes);

// The shares of the first `bytes` of that, the lowest nodes of the first block first.
std::map<uint32_t, int64_t> ReusedShares(const std::vector<MemoryBlock>& reusable,
                                         const MemoryBlock& block);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_REUSED_MEMORY_H_
