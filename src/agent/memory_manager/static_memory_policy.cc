#include "agent/memory_manager/static_memory_policy.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/memory_manager/memory_state.h"
#include "agent/memory_manager/node_sets.h"
#include "agent/memory_manager/reserved_memory.h"
#include "agent/memory_manager/reused_memory.h"
#include "agent/topology_manager/node_range.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

absl::Status Refused(absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("[memorymanager] ", why));
}

// One request on a machine in one state.
class Question {
 public:
  Question(const MemoryByNode& allocatable, const MemoryAmounts& request,
           const std::vector<MemoryBlock>& used, const std::vector<MemoryBlock>& reusable)
      : request_(request), reusable_(reusable), state_(allocatable, request, used) {}

  const MemoryState& state() const { return state_; }

  // nullopt: no place at all.
  std::optional<std::vector<Hint>> Places(HintChoice choice) const {
    if (choice == HintChoice::kRanges) {
      const std::vector<NodeRange> ranges = Ranges();
      return ranges.empty() ? std::nullopt : std::optional(HintsOf(ranges));
    }
    bool is_any = false;
    std::vector<Hint> places;
    if (choice == HintChoice::kAll) {
      places.reserve(size_t{1} << std::min(state_.nodes().size(), kExactNodes));
    }
    ForEachPlace({}, [&](const Hint& place) {
      is_any = true;
      if (choice == HintChoice::kAll || place.preferred) places.push_back(place);
      if (choice == HintChoice::kAll) return kAnySize;
      return place.preferred ? place.nodes->Count() : 0;
    });
    if (!is_any) return std::nullopt;
    return places;
  }

  // Places, as ranges: nodes that are not in use, in any number that has enough; and each set that
  // is in use as one, by itself. Complete where ForEachNodeSet is.
  std::vector<NodeRange> Ranges() const {
    if (request_.empty()) return {};
    std::vector<NodeMemory> unused;
    std::set<uint64_t> groups;
    for (const NodeMemory& node : state_.nodes()) {
      if (node.group.Empty()) {
        unused.push_back(node);
      } else {
        groups.insert(node.group.bits());
      }
    }
    std::sort(unused.begin(), unused.end(), [](const NodeMemory& a, const NodeMemory& b) {
      return a.free != b.free ? a.free > b.free : a.node < b.node;
    });
    std::vector<uint32_t> numbers;
    for (const NodeMemory& node : unused) numbers.push_back(node.node);
    std::vector<NodeRange> ranges =
        RangesThatSuffice({}, numbers, [this](NodeMask mask) { return Fits(mask); });
    for (const uint64_t bits : groups) {
      const NodeMask group = NodeMask::FromBits(bits);
      if (state_.HasAll(group) && state_.IsOpenTo(group) && Fits(group)) {
        ranges.push_back({.least = group, .most = group});
      }
    }
    return ranges;
  }

  // The best set of the nodes `inside`: a preferred one, then one of few nodes, then of low ones.
  std::optional<Hint> BestPlace(NodeMask inside) const {
    std::optional<Hint> best;
    ForEachPlace(inside, [&](const Hint& place) {
      const bool is_lower = !best || place.nodes->bits() < best->nodes->bits();
      if (inside.IsSubsetOf(*place.nodes) && is_lower) best = place;
      return best ? best->nodes->Count() : kAnySize;
    });
    return best;
  }

  // The nodes' shares of a new block, the lowest nodes first; what it takes over comes before.
  void Share(size_t resource, MemoryBlock& block) const {
    block.shares = ReusedShares(reusable_, block);
    int64_t left = block.bytes;
    for (const auto& [node, bytes] : block.shares) left -= bytes;
    for (const NodeMemory& node : state_.nodes()) {
      if (!block.nodes.Contains(node.node)) continue;
      const int64_t part = std::min(left, node.free[resource]);
      if (part > 0) block.shares[node.node] += part;
      left -= part;
    }
  }

 private:
  static constexpr int kAnySize = NodeMask::kMost;

  // Calls `visit` with each place, in kubelet's order: places of few nodes come first. It returns
  // the most nodes that further ones may have. A place is preferred if no set of fewer nodes could
  // hold the request on an empty machine. `inside` as ForEachNodeSet's.
  void ForEachPlace(NodeMask inside, absl::FunctionRef<int(const Hint&)> visit) const {
    if (request_.empty()) return;
    std::vector<NodeMask> wanted;
    for (const MemoryBlock& block : reusable_) wanted.push_back(block.nodes);
    int fewest = kAnySize;
    int most = kAnySize;
    ForEachNodeSet(state_, wanted, inside, [&](NodeMask mask) {
      const int size = mask.Count();
      if (size > most) return false;
      if (!CouldHold(mask)) return true;
      fewest = std::min(fewest, size);
      if (!state_.IsOpenTo(mask) || !Holds(mask)) return true;
      most = visit({.nodes = mask, .preferred = size == fewest});
      return true;
    });
  }

  bool CouldHold(NodeMask mask) const {
    for (size_t i = 0; i < state_.request().size(); ++i) {
      if (state_.Allocatable(mask, i) < state_.request()[i]) return false;
    }
    return true;
  }

  bool Fits(NodeMask mask) const { return CouldHold(mask) && Holds(mask); }

  bool Holds(NodeMask mask) const {
    size_t i = 0;
    for (const auto& [resource, bytes] : request_) {
      const int64_t reusable = ReusableBytes(reusable_, resource, mask);
      const int64_t free = state_.Free(mask, i);
      if (SumUpToMost(free, reusable) < state_.request()[i++]) return false;
    }
    return true;
  }

  const MemoryAmounts& request_;
  const std::vector<MemoryBlock>& reusable_;
  const MemoryState state_;
};

absl::StatusOr<NodeMask> Choose(const Question& question, const Hint& hint) {
  Hint chosen = hint;
  if (!chosen.nodes) {
    const std::optional<Hint> best = question.BestPlace({});
    if (!best) {
      return Refused(
          "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available");
    }
    chosen = *best;
    if (hint.preferred && !chosen.preferred) {
      return Refused("failed to find the default preferred hint");
    }
  }
  if (!question.state().IsFree(*chosen.nodes)) {
    const std::optional<Hint> extended = question.BestPlace(*chosen.nodes);
    if (!extended) {
      return Refused("failed to find NUMA nodes to extend the current topology hint");
    }
    if (chosen.preferred && !extended->preferred) {
      return Refused("failed to find the extended preferred hint");
    }
    chosen = *extended;
  }
  if (question.state().MixesGroups(*chosen.nodes)) {
    return Refused("preferred hint violates NUMA node allocation");
  }
  return *chosen.nodes;
}

}  // namespace

absl::StatusOr<StaticMemoryPolicy> StaticMemoryPolicy::Make(
    std::shared_ptr<const topology::MachineMaps> maps, const MemoryByNode& reservations,
    const MemoryAmounts& reserved) {
  StaticMemoryPolicy policy;
  PLIMSOLL_ASSIGN_OR_RETURN(policy.allocatable_, AllocatableMemory(*maps, reservations, reserved));
  return policy;
}

ResourceHints StaticMemoryPolicy::Hints(const MemoryAmounts& request,
                                        const std::vector<MemoryBlock>& used,
                                        const std::vector<MemoryBlock>& reusable,
                                        HintChoice choice) const {
  auto places = Question(allocatable_, request, used, reusable).Places(choice);
  ResourceHints hints;
  if (!places) return hints;
  const auto last = std::prev(request.end());
  for (auto each = request.begin(); each != last; ++each) hints[each->first] = *places;
  hints[last->first] = *std::move(places);
  return hints;
}

absl::StatusOr<std::vector<MemoryBlock>> StaticMemoryPolicy::Allocate(
    const MemoryAmounts& request, const Hint& hint, const std::vector<MemoryBlock>& used,
    const std::vector<MemoryBlock>& reusable) const {
  const Question question(allocatable_, request, used, reusable);
  PLIMSOLL_ASSIGN_OR_RETURN(const NodeMask nodes, Choose(question, hint));
  std::vector<MemoryBlock> blocks;
  for (const auto& [resource, bytes] : request) {
    blocks.push_back({.resource = resource,
                      .nodes = nodes,
                      .bytes = question.state().request()[blocks.size()],
                      .shares = {}});
    question.Share(blocks.size() - 1, blocks.back());
  }
  return blocks;
}

}  // namespace plimsoll::agent
