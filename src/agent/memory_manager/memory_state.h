// The state of NUMA nodes for some resources while blocks are in use: kubelet's NUMANodeMap, as far
// as one request needs it.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_MEMORY_STATE_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_MEMORY_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/memory_manager/static_memory_policy.h"
#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_sums.h"

namespace plimsoll::agent {

// A node that has memory for a single-node container can't join a group, and a node of a group
// serves containers of that group only. Which of them a node is follows from its blocks:
//   - none: free for both;
//   - one for the node alone, even beside a group's (the topology manager can demand that for the
//     sake of CPUs): single;
//   - else: of the group of the last one (they all have the same, unless the machine changed).
// kubelet keeps the last block's nodes in place of that, also when that block is gone again.
struct NodeMemory {
  uint32_t node = 0;
  // By the request's resources, in their order. A resource that the node lacks: 0.
  std::vector<int64_t> free;
  std::vector<int64_t> allocatable;
  NodeMask group;  // empty: unused
};

class MemoryState {
 public:
  MemoryState(const MemoryByNode& allocatable, const MemoryAmounts& request,
              const std::vector<MemoryBlock>& used);

  const std::vector<NodeMemory>& nodes() const { return nodes_; }  // ascending
  // Bytes of the nodes together, by the request's resource. Nodes that the machine lacks: 0.
  int64_t Free(NodeMask mask, size_t resource) const { return free_[resource].Of(mask); }
  int64_t Allocatable(NodeMask mask, size_t resource) const {
    return allocatable_[resource].Of(mask);
  }
  // Whether the machine has these nodes.
  bool HasAll(NodeMask mask) const { return mask.IsSubsetOf(all_); }
  // Whether the nodes together have the request.
  bool IsFree(NodeMask mask) const;
  // Whether a new block for these nodes breaks the rule of groups.
  bool MixesGroups(NodeMask mask) const;
  // For hints, kubelet also refuses a group's node as a single one.
  bool IsOpenTo(NodeMask mask) const;

  // The request's amounts, none below 0, in the order of NodeMemory's.
  const std::vector<int64_t>& request() const { return request_; }

 private:
  std::vector<int64_t> request_;
  std::vector<NodeMemory> nodes_;
  NodeMask all_, used_;                       // nodes; those with a group
  std::vector<NodeSums> free_, allocatable_;  // by resource
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_MEMORY_STATE_H_
