#include "agent/cpu_manager/cpu_hints.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"
#include "agent/topology_manager/node_sums.h"

namespace plimsoll::agent {

using resources::CpuSet;

namespace {

constexpr size_t kMostMasks = size_t{1} << 20;

struct NodeCounts {
  NodeMask mask;
  uint64_t packages = 0;  // bits by index
  int64_t free = 0;       // free and reusable CPUs
};

// The fewest nodes that could hold `count` CPUs if all were free; all if none could.
int FewestNodes(const CpuLayout& layout, int64_t count) {
  std::vector<int64_t> sizes;
  for (uint32_t node = 0; node < layout.GroupCount(CpuLevel::kNode); ++node) {
    sizes.push_back(static_cast<int64_t>(layout.Members(CpuLevel::kNode, node).size()));
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  int nodes = 0;
  for (const int64_t size : sizes) {
    ++nodes;
    count -= size;
    if (count <= 0) break;
  }
  return nodes;
}

class CpuHintMaker {
 public:
  CpuHintMaker(const CpuLayout& layout, int64_t count, bool align_by_socket, HintChoice choice)
      : layout_(layout),
        count_(count),
        align_by_socket_(align_by_socket),
        choice_(choice),
        fewest_(FewestNodes(layout, count)) {}

  std::vector<Hint> Make(const CpuSet& free, const CpuSet& reusable) {
    CountNodes(free, reusable);
    if (choice_ == HintChoice::kRanges) return HintsOf(Ranges());
    if (choice_ == HintChoice::kAll)
      hints_.reserve(std::min(kMostMasks, size_t{1} << std::min<size_t>(nodes_.size(), 20)));
    for (size_t size = 1; size <= LargestSize(); ++size) Extend({}, 0, size);
    return std::move(hints_);
  }

 private:
  // The largest size among the sets that are looked at.
  size_t LargestSize() const {
    if (choice_ == HintChoice::kAll || align_by_socket_) return nodes_.size();
    return std::min(nodes_.size(), static_cast<size_t>(fewest_));
  }

  void CountNodes(const CpuSet& free, const CpuSet& reusable) {
    const CpuSet usable = free.Union(reusable);
    for (uint32_t node = 0; node < layout_.GroupCount(CpuLevel::kNode); ++node) {
      NodeCounts counts{.mask = NodeMask::Of(layout_.NodeNumber(node))};
      if (counts.mask.Empty()) continue;
      for (const uint32_t cpu : layout_.Members(CpuLevel::kNode, node)) {
        const uint32_t number = layout_.NumberOf(cpu);
        const uint32_t package = layout_.GroupOf(CpuLevel::kPackage, cpu);
        if (package < 64) counts.packages |= uint64_t{1} << package;
        if (usable.Contains(number)) ++counts.free;
        if (reusable.Contains(number)) needed_ = needed_ | counts.mask;
      }
      nodes_.push_back(counts);
    }
  }

  std::vector<NodeRange> Ranges() {
    std::sort(nodes_.begin(), nodes_.end(),
              [](const NodeCounts& a, const NodeCounts& b) { return a.free > b.free; });
    std::map<uint32_t, int64_t> free;
    std::vector<uint32_t> numbers;  // those with the most free CPUs first
    for (const NodeCounts& each : nodes_) {
      const auto number = static_cast<uint32_t>(std::countr_zero(each.mask.bits()));
      free[number] = each.free;
      if (!needed_.Contains(number)) numbers.push_back(number);
    }
    const NodeSums sums(free);
    return RangesThatSuffice(needed_, numbers,
                             [&](NodeMask mask) { return sums.Of(mask) >= count_; });
  }

  // Adds `more` of the nodes from `from` on to `chosen`, in all ways.
  void Extend(const NodeCounts& chosen, size_t from, size_t more) {
    for (size_t i = from; i + more <= nodes_.size() && masks_ < kMostMasks; ++i) {
      const NodeCounts with = {.mask = chosen.mask | nodes_[i].mask,
                               .packages = chosen.packages | nodes_[i].packages,
                               .free = chosen.free + nodes_[i].free};
      more == 1 ? Consider(with) : Extend(with, i + 1, more - 1);
    }
  }

  void Consider(const NodeCounts& chosen) {
    ++masks_;
    if (chosen.free < count_ || !needed_.IsSubsetOf(chosen.mask)) return;
    const bool preferred = IsPreferred(chosen);
    if (!preferred && choice_ == HintChoice::kPreferred) return;
    hints_.push_back({.nodes = chosen.mask, .preferred = preferred});
  }

  bool IsPreferred(const NodeCounts& chosen) const {
    if (chosen.mask.Count() == fewest_) return true;
    if (!align_by_socket_) return false;
    const size_t packages = layout_.GroupCount(CpuLevel::kPackage);
    const size_t nodes_per_package = layout_.GroupCount(CpuLevel::kNode) / packages;
    if (nodes_per_package == 0) return false;
    const size_t fewest_packages =
        (static_cast<size_t>(fewest_) + nodes_per_package - 1) / nodes_per_package;
    return static_cast<size_t>(std::popcount(chosen.packages)) == fewest_packages;
  }

  const CpuLayout& layout_;
  const int64_t count_;
  const bool align_by_socket_;
  const HintChoice choice_;
  const int fewest_;
  std::vector<NodeCounts> nodes_;
  NodeMask needed_;  // by reusable CPUs
  size_t masks_ = 0;
  std::vector<Hint> hints_;
};

}  // namespace

std::vector<Hint> CpuHints(const CpuLayout& layout, int64_t count, const CpuSet& free,
                           const CpuSet& reusable, bool align_by_socket, HintChoice choice) {
  return CpuHintMaker(layout, count, align_by_socket, choice).Make(free, reusable);
}

}  // namespace plimsoll::agent
