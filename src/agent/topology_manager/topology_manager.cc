#include "agent/topology_manager/topology_manager.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/topology_manager/agreed_nodes.h"
#include "agent/topology_manager/common_ranges.h"

namespace plimsoll::agent {
namespace {

using HintList = std::vector<Hint>;

// Each list has at least one hint, and means one resource. A provider without hints is one that
// takes any place.
std::vector<HintList> ListsOf(std::vector<ResourceHints> providers) {
  std::vector<HintList> lists;
  for (ResourceHints& resources : providers) {
    if (resources.empty()) lists.push_back({{.nodes = std::nullopt, .preferred = true}});
    for (auto& [resource, hints] : resources) {
      if (hints && !hints->empty()) {
        lists.push_back(*std::move(hints));
      } else {
        lists.push_back({{.nodes = std::nullopt, .preferred = !hints}});
      }
    }
  }
  return lists;
}

// For single-numa-node.
void KeepSingleNodes(std::vector<HintList>& lists) {
  for (HintList& list : lists) {
    std::erase_if(list, [](const Hint& hint) {
      return !hint.preferred || (hint.nodes && hint.nodes->Count() != 1);
    });
  }
}

// The fewest nodes with which the resource that needs most of them can do.
int NodesNeeded(const std::vector<HintList>& lists) {
  int needed = 0;
  for (const HintList& list : lists) {
    std::optional<int> fewest;
    for (const Hint& hint : list) {
      if (hint.nodes) fewest = std::min(fewest.value_or(NodeMask::kMost), hint.nodes->Count());
    }
    needed = std::max(needed, fewest.value_or(0));
  }
  return needed;
}

absl::Status CheckDistances(const topology::MachineMaps& maps) {
  for (const auto& [from, node] : maps.nodes) {
    for (const auto& [to, unused] : maps.nodes) {
      if (from == to || node.distances.contains(to)) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "topologyManagerPolicyOptions: prefer-closest-numa-nodes needs the distances of NUMA "
          "nodes, and the topology has none from node ",
          from, " to node ", to));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNodes(const TopologyOptions& options, const topology::MachineMaps& maps) {
  const char* const policy = TopologyPolicyName(options.policy);
  if (maps.nodes.size() > static_cast<size_t>(options.max_nodes)) {
    return absl::FailedPreconditionError(
        absl::StrCat("topologyManagerPolicy ", policy, ": the machine has ", maps.nodes.size(),
                     " NUMA nodes, and at most ", options.max_nodes,
                     " are allowed; topologyManagerPolicyOptions: max-allowable-numa-nodes may "
                     "allow more"));
  }
  if (!maps.nodes.empty() && maps.nodes.rbegin()->first >= NodeMask::kMost) {
    return absl::FailedPreconditionError(
        absl::StrCat("topologyManagerPolicy ", policy, ": NUMA node ", maps.nodes.rbegin()->first,
                     " is beyond ", NodeMask::kMost - 1, ", the highest number it can align to"));
  }
  return options.prefer_closest ? CheckDistances(maps) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<TopologyManager> TopologyManager::Make(const TopologyOptions& options,
                                                      const topology::MachineMaps& maps) {
  if (options.policy != TopologyPolicy::kNone) {
    if (const absl::Status fault = CheckNodes(options, maps); !fault.ok()) return fault;
  }
  TopologyManager manager;
  manager.options_ = options;
  for (const auto& [number, node] : maps.nodes) manager.nodes_.Add(number);
  if (options.prefer_closest && options.policy != TopologyPolicy::kSingleNumaNode) {
    manager.distances_.emplace(maps);
  }
  return manager;
}

// kubelet looks at each way to take one hint of each list. One is preferred if all its hints are,
// and name the same nodes; its place is the nodes that all have in common. The best of the
// preferred ones wins, else the best of all. Its comparison is a strict order of places, so it is
// enough to know which places there are, and not in how many ways, nor in which turn.
TopologyManager::Decision TopologyManager::Merge(std::vector<ResourceHints> hints) const {
  if (options_.policy == TopologyPolicy::kNone) return {};
  std::vector<HintList> lists = Lists(std::move(hints));
  const std::optional<Hint> agreed = Agreed(lists);
  return DecisionFor(agreed ? *agreed : Nearest(std::move(lists)));
}

TopologyManager::Decision TopologyManager::Decide(HintsOf hints_of) const {
  if (options_.policy == TopologyPolicy::kNone) return {};
  if (const std::optional<Hint> agreed = Agreed(Lists(hints_of(HintChoice::kPreferred)))) {
    return DecisionFor(*agreed);
  }
  if (options_.policy != TopologyPolicy::kBestEffort) return {.best = {}, .admitted = false};
  const bool is_exact = static_cast<size_t>(nodes_.Count()) <= CommonRanges::kExactNodes;
  return DecisionFor(Nearest(Lists(hints_of(is_exact ? HintChoice::kRanges : HintChoice::kAll))));
}

std::vector<std::vector<Hint>> TopologyManager::Lists(std::vector<ResourceHints> hints) const {
  std::vector<HintList> lists = ListsOf(std::move(hints));
  if (options_.policy == TopologyPolicy::kSingleNumaNode) KeepSingleNodes(lists);
  return lists;
}

TopologyManager::Decision TopologyManager::DecisionFor(Hint best) const {
  // kubelet's: with all nodes there is nothing to align, even on a machine with one.
  const bool single = options_.policy == TopologyPolicy::kSingleNumaNode;
  if (single && best.nodes == nodes_) best.nodes = std::nullopt;
  const bool admitted = options_.policy == TopologyPolicy::kBestEffort || best.preferred;
  return {.best = best, .admitted = admitted};
}

std::optional<Hint> TopologyManager::Agreed(const std::vector<HintList>& lists) const {
  const std::vector<NodeMask> agreed = AgreedNodes(nodes_, lists);
  if (agreed.empty()) return std::nullopt;
  const auto narrower = [order = Order()](NodeMask a, NodeMask b) {
    return order.IsNarrower(a, b);
  };
  return Hint{.nodes = *std::min_element(agreed.begin(), agreed.end(), narrower),
              .preferred = true};
}

Hint TopologyManager::Nearest(std::vector<HintList> lists) const {
  const int needed = NodesNeeded(lists);
  std::stable_sort(lists.begin(), lists.end(),
                   [](const HintList& a, const HintList& b) { return a.size() < b.size(); });
  const PlaceOrder order = Order();
  const auto nearer = [&](NodeMask a, NodeMask b) { return order.IsNearer(a, b, needed); };
  CommonRanges common(nodes_, nearer);
  for (HintList& list : lists) {
    std::vector<NodeRange> ranges;
    ranges.reserve(list.size());
    for (const Hint& hint : list) {
      const NodeMask least = hint.nodes.value_or(nodes_);
      ranges.push_back({.least = least, .most = least | hint.also});
    }
    HintList().swap(list);  // its memory is for what comes
    common.Intersect(std::move(ranges));
  }
  const std::optional<NodeMask> nearest = order.Nearest(common.ranges(), needed);
  return {.nodes = nearest.value_or(nodes_), .preferred = false};
}

PlaceOrder TopologyManager::Order() const {
  return PlaceOrder(distances_ ? &*distances_ : nullptr);
}

}  // namespace plimsoll::agent
