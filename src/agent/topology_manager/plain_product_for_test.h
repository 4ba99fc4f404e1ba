// For tests: kubelet's way to make one place of all hints, which judges quicker ones.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLAIN_PRODUCT_FOR_TEST_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLAIN_PRODUCT_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_mask.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// kubelet's way, by the letter: each way to take one hint of each list, one after the other.
class PlainProduct {
 public:
  // `closest`: prefer-closest-numa-nodes, with the machine's distances; may be null.
  PlainProduct(NodeMask all, std::vector<std::vector<Hint>> lists,
               const topology::MachineMaps* closest = nullptr)
      : all_(all), lists_(std::move(lists)), closest_(closest) {}

  Hint Best() {
    for (const std::vector<Hint>& list : lists_) {
      std::optional<int> fewest;
      for (const Hint& hint : list) {
        if (hint.nodes && (!fewest || hint.nodes->Count() < *fewest)) {
          fewest = hint.nodes->Count();
        }
      }
      needed_ = std::max(needed_, fewest.value_or(0));
    }
    std::vector<Hint> taken;
    Walk(taken);
    return best_.value_or(Hint{.nodes = all_, .preferred = false});
  }

 private:
  void Walk(std::vector<Hint>& taken) {
    if (taken.size() == lists_.size()) return Judge(taken);
    for (const Hint& hint : lists_[taken.size()]) {
      taken.push_back(hint);
      Walk(taken);
      taken.pop_back();
    }
  }

  void Judge(const std::vector<Hint>& taken) {
    Hint merged = {.nodes = all_, .preferred = true};
    std::optional<NodeMask> first;
    for (const Hint& hint : taken) {
      merged.preferred = merged.preferred && hint.preferred;
      if (!hint.nodes) continue;
      if (!first) first = hint.nodes;
      merged.preferred = merged.preferred && *first == *hint.nodes;
      merged.nodes = *merged.nodes & *hint.nodes;
    }
    if (!merged.nodes->Empty() && (!best_ || IsBetter(merged))) best_ = merged;
  }

  bool IsBetter(const Hint& merged) const {
    if (merged.preferred != best_->preferred) return merged.preferred;
    const int now = best_->nodes->Count();
    const int then = merged.nodes->Count();
    const bool lower = IsLower(*merged.nodes, *best_->nodes);
    const bool narrower = then < now || (then == now && lower);
    if (merged.preferred || now > needed_) return narrower;
    if (now == needed_) return then == needed_ && lower;
    if (then > needed_) return false;
    if (then != now) return then > now;
    return lower;
  }

  // Compares sets of as many nodes.
  bool IsLower(NodeMask a, NodeMask b) const {
    if (closest_ != nullptr && DistancesIn(a) != DistancesIn(b)) {
      return DistancesIn(a) < DistancesIn(b);
    }
    return a.bits() < b.bits();
  }

  uint64_t DistancesIn(NodeMask mask) const {
    uint64_t sum = 0;
    for (const uint32_t from : mask.ToVector()) {
      for (const uint32_t to : mask.ToVector()) sum += closest_->nodes.at(from).distances.at(to);
    }
    return sum;
  }

  NodeMask all_;
  std::vector<std::vector<Hint>> lists_;
  const topology::MachineMaps* closest_;
  int needed_ = 0;
  std::optional<Hint> best_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLAIN_PRODUCT_FOR_TEST_H_
