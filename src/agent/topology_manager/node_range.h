// Many sets of NUMA nodes in two words.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_RANGE_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_RANGE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// All sets that have the nodes of `least` and no others than those of `most`. What fits on some
// nodes mostly fits on these and any further ones: a few ranges say what thousands of sets say.
struct NodeRange {
  NodeMask least;
  NodeMask most;  // a superset of `least`

  bool operator==(const NodeRange&) const = default;
  bool Contains(const NodeRange& other) const {
    return least.IsSubsetOf(other.least) && other.most.IsSubsetOf(most);
  }
  // The intersections of each set of `a` with each of `b` are again a range: a set between the
  // bounds is that of itself with a.least and itself with b.least.
  friend NodeRange operator&(const NodeRange& a, const NodeRange& b) {
    return {.least = a.least & b.least, .most = a.most & b.most};
  }
};

// The sets, but for the empty one, that have all nodes of `needed`, further ones of `nodes`, and of
// which `suffices` is true. It must be true of each superset of a set of which it is. The result is
// shortest if `nodes` begins with those that do most towards it. Asks for at most 2^20 sets: the
// result is complete for up to 19 nodes.
std::vector<NodeRange> RangesThatSuffice(NodeMask needed, const std::vector<uint32_t>& nodes,
                                         absl::FunctionRef<bool(NodeMask)> suffices);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_RANGE_H_
