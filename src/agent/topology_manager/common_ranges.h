// All the sets of nodes that result when one set is taken of each of several lists, and these are
// intersected: kubelet's topology manager chooses among them. The number of ways to take them is
// the product of the lists' lengths; the number of results is not, and ranges tell many at once.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_RANGES_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// Accumulates lists one by one. Short lists first cost the least.
//   CommonRanges common(all, better);
//   for (const auto& list : lists) common.Intersect(list);
//   common.ranges();
// Up to kExactNodes nodes the result is complete. A list costs at most about kPairs steps, or else
// 3 * n * 2^n of the quickest kind. On larger machines a list costs at most about kMostPairs steps:
// where there are more pairs of a result so far and a range of the list, only the results that are
// `better` go on. (kubelet's walk over 2^17 masks of each list never ends.)
class CommonRanges {
 public:
  static constexpr size_t kExactNodes = 16;
  static constexpr size_t kPairs = size_t{1} << 13;
  static constexpr size_t kMostPairs = size_t{1} << 22;
  // A strict order of sets: of the ranges' least ones.
  using Better = std::function<bool(NodeMask a, NodeMask b)>;

  // Starts with `all` alone: nodes outside of it never count.
  CommonRanges(NodeMask all, Better better);

  void Intersect(std::vector<NodeRange> list);
  // In no particular order; a set may be in several. The empty set doesn't count.
  const std::vector<NodeRange>& ranges() const { return ranges_; }

 private:
  // Cuts the ranges down to `all`.
  void Restrict(std::vector<NodeRange>& list) const;
  // The mostly quickest way: a pair of ranges has nothing in common but the nodes at most, so that
  // the result is one range. False: no such pair was found, and nothing has changed.
  bool IntersectToEverything(const std::vector<NodeRange>& list);
  void IntersectPairs(const std::vector<NodeRange>& list);
  void IntersectDense(const std::vector<NodeRange>& list);

  NodeMask all_;
  Better better_;
  std::vector<uint32_t> nodes_;
  std::vector<NodeRange> ranges_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_RANGES_H_
