#include "agent/topology_manager/common_ranges.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "agent/topology_manager/set_table.h"
#include "agent/topology_manager/superset_counts.h"

namespace plimsoll::agent {
namespace {

// Above, a look at all pairs of results costs more than it saves.
constexpr size_t kMostToTidy = 256;
// At pairs, before they are counted.
constexpr size_t kMostLooks = size_t{1} << 16;

NodeMask UnionOf(const std::vector<NodeRange>& ranges) {
  NodeMask all;
  for (const NodeRange& each : ranges) all = all | each.most;
  return all;
}

// Ranges that differ from each other.
void DropContained(std::vector<NodeRange>& ranges) {
  if (ranges.size() > kMostToTidy) return;
  std::vector<NodeRange> kept;
  for (const NodeRange& each : ranges) {
    const bool is_part = std::any_of(ranges.begin(), ranges.end(), [&](const NodeRange& other) {
      return other != each && other.Contains(each);
    });
    if (!is_part) kept.push_back(each);
  }
  ranges = std::move(kept);
}

}  // namespace

CommonRanges::CommonRanges(NodeMask all, Better better)
    : all_(all), better_(std::move(better)), nodes_(all.ToVector()) {
  if (!all.Empty()) ranges_.push_back({.least = all, .most = all});
}

void CommonRanges::Intersect(std::vector<NodeRange> list) {
  Restrict(list);
  if (ranges_ == std::vector<NodeRange>{{.least = all_, .most = all_}}) {
    ranges_ = std::move(list);
    return;
  }
  if (nodes_.size() <= kExactNodes) {
    if (IntersectToEverything(list)) return;
    ranges_.size() * list.size() <= kPairs ? IntersectPairs(list) : IntersectDense(list);
    return;
  }
  const size_t most = std::max<size_t>(1, kMostPairs / std::max<size_t>(1, list.size()));
  if (ranges_.size() > most) {
    std::sort(ranges_.begin(), ranges_.end(),
              [this](const NodeRange& a, const NodeRange& b) { return better_(a.least, b.least); });
    ranges_.resize(most);
  }
  IntersectPairs(list);
}

void CommonRanges::Restrict(std::vector<NodeRange>& list) const {
  for (NodeRange& each : list) each = {.least = each.least & all_, .most = each.most & all_};
  std::erase_if(list, [](const NodeRange& each) { return each.most.Empty(); });
}

bool CommonRanges::IntersectToEverything(const std::vector<NodeRange>& list) {
  const NodeRange everything = {.least = {}, .most = UnionOf(ranges_) & UnionOf(list)};
  size_t pairs = 0;
  for (const NodeRange& a : ranges_) {
    if (pairs > kMostLooks) return false;
    pairs += list.size();
    const bool is_there = std::any_of(list.begin(), list.end(),
                                      [&](const NodeRange& b) { return (a & b) == everything; });
    if (!is_there) continue;
    ranges_ = {everything};
    return true;
  }
  return false;
}

void CommonRanges::IntersectPairs(const std::vector<NodeRange>& list) {
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> seen;
  std::vector<NodeRange> common;
  for (const NodeRange& a : ranges_) {
    for (const NodeRange& b : list) {
      const NodeRange both = a & b;
      if (both.most.Empty()) continue;
      if (seen.emplace(both.least.bits(), both.most.bits()).second) common.push_back(both);
    }
  }
  DropContained(common);
  ranges_ = std::move(common);
}

void CommonRanges::IntersectDense(const std::vector<NodeRange>& list) {
  SupersetCounts counts(SetTable(ranges_, nodes_));
  counts.Multiply(SupersetCounts(SetTable(list, nodes_)));
  ranges_ = std::move(counts).Table().Ranges();
}

}  // namespace plimsoll::agent
