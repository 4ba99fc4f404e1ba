// For tests: the sets of nodes that hints tell of.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// Sets as bits, with the empty set.
//
// Each set once, however many ranges have it: with it, `sets` has all above it up to `most`.
inline void AddUpTo(uint64_t most, uint64_t set, std::set<uint64_t>& sets) {
  if (!sets.insert(set).second) return;
  for (uint64_t left = most & ~set; left != 0; left &= left - 1) {
    AddUpTo(most, set | (left & (~left + 1)), sets);
  }
}

inline std::set<uint64_t> SetsOf(const std::vector<NodeRange>& ranges) {
  std::map<uint64_t, std::set<uint64_t>> by_most;
  for (const NodeRange& each : ranges) {
    AddUpTo(each.most.bits(), each.least.bits(), by_most[each.most.bits()]);
  }
  std::set<uint64_t> all;
  for (auto& [most, sets] : by_most) all.merge(sets);
  return all;
}

// Hints for any place are left out.
inline std::set<uint64_t> SetsOf(const std::vector<Hint>& hints) {
  std::vector<NodeRange> ranges;
  for (const Hint& each : hints) {
    if (each.nodes) ranges.push_back({.least = *each.nodes, .most = *each.nodes | each.also});
  }
  return SetsOf(ranges);
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_
