#include "agent/topology_manager/set_table.h"

#include <map>
#include <utility>

namespace plimsoll::agent {
namespace {

// Compilers make vector instructions of a loop of known length over arrays that don't overlap.
constexpr size_t kLane = 8;

template <typename Combine>
void CombineArrays(uint32_t* __restrict with_less, uint32_t* __restrict with_more, size_t size,
                   Combine combine) {
  if (size < kLane) {
    for (size_t i = 0; i < size; ++i) combine(with_less[i], with_more[i]);
    return;
  }
  for (size_t i = 0; i < size; i += kLane) {
    for (size_t j = i; j < i + kLane; ++j) combine(with_less[j], with_more[j]);
  }
}

// Calls `combine` with each count and that of the same set with one node more, node by node, of
// the nodes of `bits`.
template <typename Combine>
void ForEachStep(std::vector<uint32_t>& counts, size_t bits, Combine combine) {
  for (size_t bit = 1; bit < counts.size(); bit <<= 1) {
    if ((bits & bit) == 0) continue;
    for (size_t block = 0; block < counts.size(); block += 2 * bit) {
      uint32_t* const begin = counts.data() + block;
      CombineArrays(begin, begin + bit, bit, combine);
    }
  }
}

constexpr size_t kAllBits = ~size_t{0};

}  // namespace

SetTable::SetTable(const std::vector<NodeRange>& ranges, const std::vector<uint32_t>& nodes)
    : nodes_(nodes),
      is_without_holes_(!nodes.empty() && nodes.back() + 1 == nodes.size()),
      numbers_(size_t{1} << nodes.size()) {
  std::map<uint64_t, std::vector<NodeMask>> leasts;  // by the most
  for (const NodeRange& each : ranges) {
    if (each.least == each.most) {
      numbers_[IndexOf(each.least)] = 1;
    } else {
      leasts[each.most.bits()].push_back(each.least);
    }
  }
  for (const auto& [most, those] : leasts) MarkAbove(those, NodeMask::FromBits(most));
}

void SetTable::CountSupersets() {
  ForEachStep(numbers_, kAllBits, [](uint32_t& count, uint32_t& larger) { count += larger; });
}

void SetTable::MarkAbove(const std::vector<NodeMask>& leasts, NodeMask most) {
  std::vector<uint32_t> marks(numbers_.size());
  for (const NodeMask least : leasts) marks[IndexOf(least)] = 1;
  ForEachStep(marks, IndexOf(most), [](uint32_t& mark, uint32_t& larger) { larger |= mark; });
  for (size_t index = 0; index < marks.size(); ++index) numbers_[index] |= marks[index];
}

// A set is in as many pairs' intersections as there are pairs of supersets. Either side has at most
// 2^16 - 1 sets beside the empty one, which counts for no other: no overflow.
void SetTable::Multiply(const SetTable& others) {
  for (size_t index = 0; index < numbers_.size(); ++index)
    numbers_[index] *= others.numbers_[index];
}

// Taking the supersets' counts off again (Möbius inversion) leaves how often each set is there.
std::vector<NodeMask> SetTable::Masks() && {
  ForEachStep(numbers_, kAllBits, [](uint32_t& count, uint32_t& larger) { count -= larger; });
  std::vector<NodeMask> masks;
  for (size_t index = 1; index < numbers_.size(); ++index) {
    if (numbers_[index] != 0) masks.push_back(MaskAt(index));
  }
  return masks;
}

size_t SetTable::IndexOf(NodeMask mask) const {
  if (is_without_holes_) return mask.bits();
  size_t index = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) index |= size_t{mask.Contains(nodes_[i])} << i;
  return index;
}

NodeMask SetTable::MaskAt(size_t index) const {
  if (is_without_holes_) return NodeMask::FromBits(index);
  NodeMask mask;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if ((index >> i & 1) != 0) mask.Add(nodes_[i]);
  }
  return mask;
}

}  // namespace plimsoll::agent
