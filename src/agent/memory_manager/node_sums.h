// Bytes that NUMA nodes have together.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SUMS_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// A walk over all sets of 16 nodes asks for 65,535 sums: each is looked up, in a table for each
// eight nodes, and not added up anew.
class NodeSums {
 public:
  // `amounts`: by node, none below 0. Nodes from NodeMask::kMost on are ignored.
  explicit NodeSums(const std::map<uint32_t, int64_t>& amounts);

  // At most INT64_MAX. Nodes without an amount have 0.
  int64_t Of(NodeMask nodes) const;

 private:
  static constexpr size_t kNodesOfTable = 8;
  using Table = std::array<int64_t, size_t{1} << kNodesOfTable>;

  std::vector<Table> tables_;
};

// Bytes of machines can't overflow, but a topology is foreign input.
int64_t SumUpToMost(int64_t a, int64_t b);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_NODE_SUMS_H_
