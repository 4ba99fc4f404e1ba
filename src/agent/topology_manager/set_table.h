// Which sets of a few nodes there are, one by one.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// Numbers the sets of n nodes from 0 to 2^n - 1: the i-th node is bit i.
class SetNumbers {
 public:
  // `nodes`: at most 16, ascending.
  explicit SetNumbers(const std::vector<uint32_t>& nodes)
      : nodes_(nodes), is_without_holes_(!nodes.empty() && nodes.back() + 1 == nodes.size()) {}

  size_t count() const { return size_t{1} << nodes_.size(); }
  // The number of a set whose nodes are all among these.
  size_t Of(NodeMask mask) const { return is_without_holes_ ? mask.bits() : Compressed(mask); }
  NodeMask MaskAt(size_t number) const;

 private:
  size_t Compressed(NodeMask mask) const;

  std::vector<uint32_t> nodes_;
  bool is_without_holes_;  // the nodes are 0 to n - 1
};

// Some of the sets of a few nodes.
class SetTable {
 public:
  // None yet.
  explicit SetTable(SetNumbers numbers)
      : numbers_(std::move(numbers)), words_((numbers_.count() + kBits - 1) / kBits) {}
  // A table of the ranges' sets.
  // `nodes`: as SetNumbers', and all that ranges have.
  SetTable(const std::vector<NodeRange>& ranges, const std::vector<uint32_t>& nodes);

  const SetNumbers& numbers() const { return numbers_; }
  bool Contains(NodeMask mask) const { return Has(numbers_.Of(mask)); }
  void Add(NodeMask mask) { AddNumber(numbers_.Of(mask)); }
  void AddNumber(size_t number) { words_[number / kBits] |= uint64_t{1} << number % kBits; }
  bool Has(size_t number) const { return (words_[number / kBits] >> number % kBits & 1) != 0; }
  // The same sets, but for the empty one: few ranges where most sets have all their supersets.
  std::vector<NodeRange> Ranges() const;

 private:
  static constexpr size_t kBits = 64;
  using Words = std::vector<uint64_t>;

  // Adds all sets that have no nodes but those of `most`, and all of a set that is there.
  void AddAbove(NodeMask most);
  // The number of the set of all nodes that sets have.
  size_t Union() const;
  // The sets with no nodes but those of `most` that lack themselves or a superset.
  Words Incomplete(size_t most) const;

  SetNumbers numbers_;
  Words words_;  // a bit for each set
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SET_TABLE_H_
