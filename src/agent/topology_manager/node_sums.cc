#include "agent/topology_manager/node_sums.h"

#include <bit>

namespace plimsoll::agent {

NodeSums::NodeSums(const std::map<uint32_t, int64_t>& amounts) {
  std::array<int64_t, NodeMask::kMost> by_node = {};
  size_t nodes = 0;
  for (const auto& [node, amount] : amounts) {
    if (node >= NodeMask::kMost) continue;
    by_node[node] = amount;
    nodes = node + 1;
  }
  for (size_t first = 0; first < nodes; first += kNodesOfTable) {
    Table& table = tables_.emplace_back();
    for (size_t set = 1; set < table.size(); ++set) {
      const auto lowest = static_cast<size_t>(std::countr_zero(set));
      table[set] = SumUpToMost(table[set & (set - 1)], by_node[first + lowest]);
    }
  }
}

}  // namespace plimsoll::agent
