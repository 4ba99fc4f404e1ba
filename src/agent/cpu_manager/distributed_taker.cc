#include "agent/cpu_manager/distributed_taker.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "agent/cpu_manager/free_cpus.h"
#include "agent/cpu_manager/node_shares.h"
#include "agent/cpu_manager/packed_taker.h"

namespace plimsoll::agent {

using resources::CpuSet;

namespace {

// How many nodes hold the request, at least and at most (kubelet's
// rangeNUMANodesNeededToSatisfy): by the size of an average node.
std::pair<size_t, size_t> NodesNeeded(const CpuLayout& layout, size_t nodes_with_free, size_t count,
                                      size_t group_size) {
  const auto divide_up = [](size_t a, size_t b) { return (a + b - 1) / b; };
  const size_t groups = divide_up(layout.cpu_count(), group_size);
  const size_t groups_per_node = divide_up(groups, layout.GroupCount(CpuLevel::kNode));
  const size_t groups_needed = divide_up(count, group_size);
  return {divide_up(groups_needed, groups_per_node), std::min(groups_needed, nodes_with_free)};
}

class DistributedTaker {
 public:
  DistributedTaker(const CpuLayout& layout, const CpuSet& free, size_t count, size_t group_size)
      : layout_(layout), free_(layout, free), count_(count), group_(group_size) {
    // A node that spans packages comes once only.
    for (const uint32_t node : free_.SortedNodes()) {
      if (std::find(nodes_.begin(), nodes_.end(), node) == nodes_.end()) nodes_.push_back(node);
    }
  }

  // nullopt: no even distribution.
  std::optional<CpuSet> Take() {
    NodeShares::Request request{.count = count_, .group_size = group_};
    for (const uint32_t node : nodes_) request.free.push_back(free_.CountIn(CpuLevel::kNode, node));
    NodeShares shares(std::move(request));
    const auto [least, most] = NodesNeeded(layout_, nodes_.size(), count_, group_);
    for (size_t nodes = least; nodes <= most; ++nodes) {
      if (const auto best = shares.Best(nodes)) return TakeShares(*best);
    }
    return std::nullopt;
  }

 private:
  std::optional<CpuSet> TakeShares(const std::vector<NodeShares::Turn>& turns) {
    CpuSet taken;
    for (const auto& [node, count] : turns) {
      const CpuSet left = free_.CpuSetIn(CpuLevel::kNode, nodes_[node]);
      const auto cpus = TakePacked(layout_, left, static_cast<int64_t>(count), {});
      if (!cpus.ok()) return std::nullopt;
      for (const uint32_t cpu : cpus->ToVector()) free_.Remove(*layout_.IndexOf(cpu));
      taken = taken.Union(*cpus);
    }
    return taken;
  }

  const CpuLayout& layout_;
  FreeCpus free_;
  const size_t count_;
  const size_t group_;
  std::vector<uint32_t> nodes_;  // with free CPUs, in kubelet's order
};

}  // namespace

absl::StatusOr<CpuSet> TakeDistributed(const CpuLayout& layout, const CpuSet& free, int64_t count,
                                       int64_t group_size) {
  if (count <= 0) return CpuSet();
  const CpuSet usable = free.Intersection(layout.cpus());
  const auto available = static_cast<int64_t>(usable.Size());
  if (count > available) return NotEnoughCpus(count, available);
  if (group_size > 0 && count % group_size == 0) {
    DistributedTaker taker(layout, usable, static_cast<size_t>(count),
                           static_cast<size_t>(group_size));
    if (auto taken = taker.Take()) return *std::move(taken);
  }
  return TakePacked(layout, usable, count, {});
}

}  // namespace plimsoll::agent
