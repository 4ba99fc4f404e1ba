#include "agent/topology_manager/common_masks.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace plimsoll::agent {
namespace {

void DropRepeated(std::vector<NodeMask>& masks) {
  const auto bits = [](NodeMask a, NodeMask b) { return a.bits() < b.bits(); };
  std::sort(masks.begin(), masks.end(), bits);
  masks.erase(std::unique(masks.begin(), masks.end()), masks.end());
}

// The nodes are 0 to n - 1.
bool IsWithoutHoles(const std::vector<uint32_t>& nodes) {
  return !nodes.empty() && nodes.back() + 1 == nodes.size();
}

// In the dense form node nodes[i] is bit i, so that a mask is an index.
size_t IndexOf(NodeMask mask, const std::vector<uint32_t>& nodes) {
  if (IsWithoutHoles(nodes)) return mask.bits();
  size_t index = 0;
  for (size_t i = 0; i < nodes.size(); ++i) index |= size_t{mask.Contains(nodes[i])} << i;
  return index;
}

NodeMask MaskAt(size_t index, const std::vector<uint32_t>& nodes) {
  if (IsWithoutHoles(nodes)) return NodeMask::FromBits(index);
  NodeMask mask;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if ((index >> i & 1) != 0) mask.Add(nodes[i]);
  }
  return mask;
}

// Calls `combine` with each count and that of the same mask with one node more, node by node.
template <typename Combine>
void ForEachStep(std::vector<uint32_t>& counts, Combine combine) {
  for (size_t bit = 1; bit < counts.size(); bit <<= 1) {
    for (size_t block = 0; block < counts.size(); block += 2 * bit) {
      for (size_t i = block; i < block + bit; ++i) combine(counts[i], counts[i + bit]);
    }
  }
}

// counts[m]: how many of the masks contain m.
std::vector<uint32_t> SupersetCounts(const std::vector<NodeMask>& masks,
                                     const std::vector<uint32_t>& nodes) {
  std::vector<uint32_t> counts(size_t{1} << nodes.size());
  for (const NodeMask mask : masks) counts[IndexOf(mask, nodes)] = 1;
  ForEachStep(counts, [](uint32_t& count, uint32_t larger) { count += larger; });
  return counts;
}

}  // namespace

CommonMasks::CommonMasks(NodeMask all, Better better)
    : all_(all), better_(std::move(better)), nodes_(all.ToVector()) {
  if (!all.Empty()) masks_.push_back(all);
}

void CommonMasks::Intersect(std::vector<NodeMask> masks) {
  Restrict(masks);
  if (masks_.size() == 1 && masks_.front() == all_) {
    masks_ = std::move(masks);
    return;
  }
  if (nodes_.size() <= kExactNodes) {
    const size_t pairs_as_dear_as_dense = size_t{2} << nodes_.size();
    masks_.size() * masks.size() <= pairs_as_dear_as_dense ? IntersectPairs(masks)
                                                           : IntersectDense(masks);
    return;
  }
  const size_t most = std::max<size_t>(1, kMostPairs / std::max<size_t>(1, masks.size()));
  if (masks_.size() > most) {
    std::sort(masks_.begin(), masks_.end(), better_);
    masks_.resize(most);
  }
  IntersectPairs(masks);
}

void CommonMasks::Restrict(std::vector<NodeMask>& masks) const {
  for (NodeMask& mask : masks) mask = mask & all_;
  if (nodes_.size() > kExactNodes) {
    std::erase_if(masks, [](NodeMask mask) { return mask.Empty(); });
    DropRepeated(masks);
    return;
  }
  std::vector<char> seen(size_t{1} << nodes_.size());
  seen[0] = 1;
  std::erase_if(masks,
                [&](NodeMask mask) { return std::exchange(seen[IndexOf(mask, nodes_)], 1) != 0; });
}

void CommonMasks::IntersectPairs(const std::vector<NodeMask>& masks) {
  absl::flat_hash_set<uint64_t> seen;
  std::vector<NodeMask> common;
  for (const NodeMask a : masks_) {
    for (const NodeMask b : masks) {
      const NodeMask both = a & b;
      if (!both.Empty() && seen.insert(both.bits()).second) common.push_back(both);
    }
  }
  masks_ = std::move(common);
}

// The number of pairs whose intersection contains m is the product of the numbers of masks that
// contain m on either side. Taking the larger intersections' pairs off again (Möbius inversion)
// leaves those whose intersection is m. Either side has at most 2^16 - 1 masks: no overflow.
void CommonMasks::IntersectDense(const std::vector<NodeMask>& masks) {
  std::vector<uint32_t> pairs = SupersetCounts(masks_, nodes_);
  const std::vector<uint32_t> others = SupersetCounts(masks, nodes_);
  for (size_t index = 0; index < pairs.size(); ++index) pairs[index] *= others[index];
  ForEachStep(pairs, [](uint32_t& count, uint32_t larger) { count -= larger; });
  masks_.clear();
  for (size_t index = 1; index < pairs.size(); ++index) {
    if (pairs[index] != 0) masks_.push_back(MaskAt(index, nodes_));
  }
}

}  // namespace plimsoll::agent
