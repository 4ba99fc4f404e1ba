// For tests: the sets of nodes that hints tell of.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_

#include <cstdint>
#include <set>
#include <vector>

#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// As bits, with the empty set.
inline void AddSets(const NodeRange& range, std::set<uint64_t>& sets) {
  const uint64_t others = range.most.bits() & ~range.least.bits();
  for (uint64_t some = others;; some = (some - 1) & others) {
    sets.insert(range.least.bits() | some);
    if (some == 0) return;
  }
}

inline std::set<uint64_t> SetsOf(const std::vector<NodeRange>& ranges) {
  std::set<uint64_t> sets;
  for (const NodeRange& each : ranges) AddSets(each, sets);
  return sets;
}

// Hints for any place are left out.
inline std::set<uint64_t> SetsOf(const std::vector<Hint>& hints) {
  std::set<uint64_t> sets;
  for (const Hint& each : hints) {
    if (each.nodes) AddSets({.least = *each.nodes, .most = *each.nodes | each.also}, sets);
  }
  return sets;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINTS_FOR_TEST_H_
