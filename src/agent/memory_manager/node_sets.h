// The sets of NUMA nodes that a request may be placed on.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SETS_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SETS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "agent/memory_manager/memory_state.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// A machine with up to kExactNodes nodes has all sets, as kubelet walks them, the smallest first
// and of a size those of the lowest nodes first.
//
// A larger machine has too many. Of all sizes that fit into kMostSets sets there are all; of larger
// sizes the sets that are likely to do: neighbours by number, the nodes with the most of a resource
// (free or allocatable, beside nodes that must be in), and `wanted` itself. For one resource,
// therefore, a request that fits k nodes of which none is in use always finds k of them.
inline constexpr size_t kExactNodes = 16;
inline constexpr size_t kMostSets = 4096;

// Calls `visit` with each of them, until it returns false; smaller ones come first.
// `wanted`: sets that must be among them (groups in use, blocks to be reused). `inside`: nodes that
// some of the larger sets must all have; may be empty.
void ForEachNodeSet(const MemoryState& state, const std::vector<NodeMask>& wanted, NodeMask inside,
                    absl::FunctionRef<bool(NodeMask)> visit);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SETS_H_
