// Amounts that NUMA nodes have together: bytes, devices, distances.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_SUMS_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// Bytes of machines can't overflow, but a topology is foreign input.
inline int64_t SumUpToMost(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::numeric_limits<int64_t>::max();
  return sum;
}

// A walk over all sets of 16 nodes asks for 65,535 sums: each is looked up, in a table for each
// eight nodes, and not added up again.
class NodeSums {
 public:
  // `amounts`: by node, none below 0. Nodes from NodeMask::kMost on are ignored.
  explicit NodeSums(const std::map<uint32_t, int64_t>& amounts);

  // At most INT64_MAX. Nodes without an amount have 0.
  int64_t Of(NodeMask nodes) const {
    int64_t sum = 0;
    uint64_t left = nodes.bits();
    for (const Table& table : tables_) {
      sum = SumUpToMost(sum, table[left % kSetsOfTable]);
      left /= kSetsOfTable;
    }
    return sum;
  }

 private:
  static constexpr size_t kNodesOfTable = 8;
  static constexpr size_t kSetsOfTable = size_t{1} << kNodesOfTable;
  using Table = std::array<int64_t, kSetsOfTable>;

  std::vector<Table> tables_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_SUMS_H_
