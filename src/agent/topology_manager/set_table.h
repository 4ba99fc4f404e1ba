// Which sets of a few nodes there are, one by one.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// A number for each set of n nodes: at first 1 for those of some ranges, else 0.
class SetTable {
 public:
  // `nodes`: at most 16, ascending, and all that ranges have. Outlives this.
  SetTable(const std::vector<NodeRange>& ranges, const std::vector<uint32_t>& nodes);

  bool Contains(NodeMask mask) const { return numbers_[IndexOf(mask)] != 0; }

  // Turns marks into counts: for each set m, how many sets of the ranges contain it. Takes
  // n * 2^n steps, as Masks.
  void CountSupersets();
  // From then on the sets counted are the intersections of each pair. Once: more would overflow.
  void Multiply(const SetTable& others);
  // The sets that were counted but for the empty one, each once. Counts are used up.
  std::vector<NodeMask> Masks() &&;

 private:
  // Marks all sets that have no nodes but those of `most`, and all of one of `leasts`.
  void MarkAbove(const std::vector<NodeMask>& leasts, NodeMask most);
  // A set's place: nodes_[i] is bit i.
  size_t IndexOf(NodeMask mask) const;
  NodeMask MaskAt(size_t index) const;

  const std::vector<uint32_t>& nodes_;
  const bool is_without_holes_;  // the nodes are 0 to n - 1: a mask is an index
  std::vector<uint32_t> numbers_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_
