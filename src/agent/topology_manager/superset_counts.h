// Intersections of all pairs of sets of nodes, by counting.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// For each set m of n nodes, how many sets of a collection contain it. Takes n * 2^n steps.
//   SupersetCounts counts(some, nodes);
//   counts.Multiply(SupersetCounts(others, nodes));
//   std::move(counts).Masks();  // a & b, for each a of `some` and b of `others`
class SupersetCounts {
 public:
  // `nodes`: at most 16, ascending, and all that ranges have.
  SupersetCounts(const std::vector<NodeRange>& ranges, const std::vector<uint32_t>& nodes);

  // From then on the collection is that of the pairs' intersections. Once: counts of more would
  // overflow.
  void Multiply(const SupersetCounts& others);
  // The sets of the collection but for the empty one, each once.
  std::vector<NodeMask> Masks() &&;

 private:
  // By set, in which nodes_[i] is bit i.
  using Counts = std::vector<uint32_t>;

  void Mark(NodeMask mask) { counts_[IndexOf(mask)] = 1; }
  // Marks all sets that have no nodes but those of `most`, and all of one of `leasts`.
  void MarkAbove(const std::vector<NodeMask>& leasts, NodeMask most);
  size_t IndexOf(NodeMask mask) const;
  NodeMask MaskAt(size_t index) const;

  const std::vector<uint32_t>& nodes_;
  const bool is_without_holes_;  // the nodes are 0 to n - 1: a mask is an index
  Counts counts_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_
