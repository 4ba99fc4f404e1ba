#include "agent/topology_manager/place_order.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "agent/topology_manager/set_table.h"

namespace plimsoll::agent {
namespace {

// The distance of a number of nodes from that needed; 0 is best.
int RankOf(int count, int needed) {
  return count <= needed ? needed - count : static_cast<int>(NodeMask::kMost) + count;
}

// How many nodes the nearest of a range's sets have. The range has a set beside the empty one.
int NearestSize(const NodeRange& range, int needed) {
  return std::clamp(std::max(needed, 1), range.least.Count(), range.most.Count());
}

// The lowest of the range's sets of that size.
NodeMask LowestOf(const NodeRange& range, int size) {
  NodeMask mask = range.least;
  uint64_t others = range.most.bits() & ~range.least.bits();
  for (int more = size - range.least.Count(); more > 0; --more, others &= others - 1) {
    mask = mask | NodeMask::FromBits(others & (~others + 1));
  }
  return mask;
}

NodeMask NodesOf(const std::vector<NodeRange>& ranges) {
  NodeMask all;
  for (const NodeRange& each : ranges) all = all | each.most;
  return all;
}

// Looks for the set of one size within which distances are the least: of equal ones the lowest.
class ClosestSet {
 public:
  explicit ClosestSet(const NodeDistances& distances) : distances_(distances) {}

  void Try(NodeMask mask) { Keep(mask, distances_.Within(mask)); }

  // Tries all sets of `size` of these ranges. Their overlaps may be large, so that each set is
  // looked at once; and few of all are closer than the closest so far.
  void TryAll(const std::vector<NodeRange>& ranges, int size) {
    nodes_ = NodesOf(ranges).ToVector();
    const SetTable table(ranges, nodes_);
    table_ = &table;
    Extend({}, 0, 0, static_cast<size_t>(size));
  }

  std::optional<NodeMask> best() const { return best_; }

 private:
  bool IsBetter(NodeMask mask, uint64_t sum) const {
    return !best_ || sum < best_sum_ || (sum == best_sum_ && mask.bits() < best_->bits());
  }
  void Keep(NodeMask mask, uint64_t sum) {
    if (!IsBetter(mask, sum)) return;
    best_ = mask;
    best_sum_ = sum;
  }

  // Adds `more` of the nodes from `from` on to `begun`, in all ways that may come to the best.
  void Extend(NodeMask begun, uint64_t sum, size_t from, size_t more) {
    for (size_t i = from; i + more <= nodes_.size(); ++i) {
      const uint64_t with = sum + distances_.Added(begun, nodes_[i]);
      if (best_ && with > best_sum_) continue;
      const NodeMask mask = begun | NodeMask::Of(nodes_[i]);
      if (more > 1) {
        Extend(mask, with, i + 1, more - 1);
      } else if (IsBetter(mask, with) && table_->Contains(mask)) {
        Keep(mask, with);
      }
    }
  }

  const NodeDistances& distances_;
  std::vector<uint32_t> nodes_;
  const SetTable* table_ = nullptr;
  std::optional<NodeMask> best_;
  uint64_t best_sum_ = 0;
};

}  // namespace

bool PlaceOrder::IsNarrower(NodeMask a, NodeMask b) const {
  if (a.Count() != b.Count()) return a.Count() < b.Count();
  if (distances_ != nullptr) {
    const uint64_t within_a = distances_->Within(a);
    const uint64_t within_b = distances_->Within(b);
    if (within_a != within_b) return within_a < within_b;
  }
  return a.bits() < b.bits();
}

bool PlaceOrder::IsNearer(NodeMask a, NodeMask b, int needed) const {
  const int rank_a = RankOf(a.Count(), needed);
  const int rank_b = RankOf(b.Count(), needed);
  return rank_a != rank_b ? rank_a < rank_b : IsNarrower(a, b);
}

std::optional<NodeMask> PlaceOrder::Nearest(const std::vector<NodeRange>& ranges,
                                            int needed) const {
  int best = std::numeric_limits<int>::max();
  int size = 0;
  for (const NodeRange& each : ranges) {
    if (each.most.Empty()) continue;
    const int of_range = NearestSize(each, needed);
    if (RankOf(of_range, needed) >= best) continue;
    best = RankOf(of_range, needed);
    size = of_range;
  }
  if (distances_ != nullptr) return Closest(ranges, size);
  std::optional<NodeMask> lowest;
  for (const NodeRange& each : ranges) {
    if (each.least.Count() > size || each.most.Count() < size || size == 0) continue;
    const NodeMask mask = LowestOf(each, size);
    if (!lowest || mask.bits() < lowest->bits()) lowest = mask;
  }
  return lowest;
}

std::optional<NodeMask> PlaceOrder::Closest(const std::vector<NodeRange>& ranges, int size) const {
  ClosestSet closest(*distances_);
  std::vector<NodeRange> wide;
  for (const NodeRange& each : ranges) {
    if (each.least.Count() > size || each.most.Count() < size || size == 0) continue;
    if (each.least.Count() == size || each.most.Count() == size) {
      closest.Try(LowestOf(each, size));
    } else {
      wide.push_back(each);
    }
  }
  if (!wide.empty()) closest.TryAll(wide, size);
  return closest.best();
}

}  // namespace plimsoll::agent
