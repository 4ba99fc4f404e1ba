// The sets of some NUMA nodes, in kubelet's order: smaller ones first, those of one size in
// lexicographic order ({0, 1}, {0, 2}, {1, 2}).
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_MASK_WALK_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_MASK_WALK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// Calls `visit` with `begun` and `more` of the nodes from `from` on, in all ways, until it returns
// false; then returns false. `more`: at least 1.
template <typename Visit>
bool ForEachExtension(const std::vector<uint32_t>& nodes, size_t from, size_t more, NodeMask begun,
                      const Visit& visit) {
  for (size_t i = from; i + more <= nodes.size(); ++i) {
    const NodeMask mask = begun | NodeMask::Of(nodes[i]);
    if (!(more == 1 ? visit(mask) : ForEachExtension(nodes, i + 1, more - 1, mask, visit))) {
      return false;
    }
  }
  return true;
}

// Calls `visit` with each set of `size` of the ascending nodes, until it returns false; then
// returns false. `size`: at least 1.
template <typename Visit>
bool ForEachMaskOf(size_t size, const std::vector<uint32_t>& nodes, const Visit& visit) {
  return ForEachExtension(nodes, 0, size, NodeMask(), visit);
}

// The same with the sets of all sizes.
template <typename Visit>
bool ForEachMask(const std::vector<uint32_t>& nodes, const Visit& visit) {
  for (size_t size = 1; size <= nodes.size(); ++size) {
    if (!ForEachMaskOf(size, nodes, visit)) return false;
  }
  return true;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_MASK_WALK_H_
