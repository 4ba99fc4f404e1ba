// The static policy of kubelet's memory manager: memory and huge pages that a container is
// guaranteed at NUMA nodes (pkg/kubelet/cm/memorymanager; Kubernetes' "Utilizing the NUMA-aware
// Memory Manager").
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_STATIC_MEMORY_POLICY_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_STATIC_MEMORY_POLICY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_mask.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// Bytes by resource: "memory", "hugepages-2Mi".
using MemoryAmounts = std::map<std::string, int64_t>;
// By NUMA node; kubelet's reservedMemory.
using MemoryByNode = std::map<uint32_t, MemoryAmounts>;

// One resource of a container, at the nodes that hold it together.
struct MemoryBlock {
  std::string resource;
  NodeMask nodes;
  int64_t bytes = 0;
  std::map<uint32_t, int64_t> shares;  // bytes by node; their sum is `bytes`
  bool operator==(const MemoryBlock&) const = default;
};

// Knows the machine, and nothing of which blocks are in use: callers say. Immutable.
//
// Decides as kubelet does from the same blocks. kubelet keeps counters beside its blocks, and these
// forget: when one of several blocks of a group goes, it frees the lowest nodes first, wherever the
// block's bytes were (the group's sum stays right); and a node on which a single-node block was
// forced beside a group's stays single after that block. Both are free again with the last block.
class StaticMemoryPolicy {
 public:
  // FAILED_PRECONDITION: a reservation for a node or resource that the machine lacks, or above what
  // the node has; reservations whose sum differs from `reserved` (systemReserved, kubeReserved and
  // the hard eviction threshold together), which names both sums, as kubelet refuses it; no memory
  // reserved at all; a node of a number of NodeMask::kMost or more.
  static absl::StatusOr<StaticMemoryPolicy> Make(std::shared_ptr<const topology::MachineMaps> maps,
                                                 const MemoryByNode& reservations,
                                                 const MemoryAmounts& reserved);

  // Bytes that pods may have, by node: the node's own without huge pages and reservations.
  const MemoryByNode& allocatable() const { return allocatable_; }

  // Hints for all the requested resources together; each gets the same list. `used`: all blocks in
  // use. `reusable`: blocks of the same pod's ended init containers, part of `used`.
  // No hints at all where no nodes have enough: the topology manager then doesn't mind, and
  // Allocate refuses.
  ResourceHints Hints(const MemoryAmounts& request, const std::vector<MemoryBlock>& used,
                      const std::vector<MemoryBlock>& reusable,
                      HintChoice choice = HintChoice::kAll) const;
  // One block for each resource of the request. With a hint of too few nodes, or without one, the
  // best nodes are chosen here. FAILED_PRECONDITION in kubelet's words: no nodes have enough, none
  // is as good as the hint promises, or groups would mix; also (kubelet's, too) an empty request
  // with a hint for any nodes. The caller lets TakeOver (reused_memory.h) shrink the blocks that
  // are taken over.
  absl::StatusOr<std::vector<MemoryBlock>> Allocate(const MemoryAmounts& request, const Hint& hint,
                                                    const std::vector<MemoryBlock>& used,
                                                    const std::vector<MemoryBlock>& reusable) const;

 private:
  StaticMemoryPolicy() = default;

  MemoryByNode allocatable_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_STATIC_MEMORY_POLICY_H_
