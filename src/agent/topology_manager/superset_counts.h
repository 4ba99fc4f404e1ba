// Intersections of all pairs of sets of nodes, by counting.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_

#include <cstdint>
#include <vector>

#include "agent/topology_manager/set_table.h"

namespace plimsoll::agent {

// For each set of n nodes, how many sets of a table contain it. Takes n * 2^n steps.
//   SupersetCounts counts(some);
//   counts.Multiply(SupersetCounts(others));
//   std::move(counts).Table();  // a & b, for each a of `some` and b of `others`
class SupersetCounts {
 public:
  explicit SupersetCounts(const SetTable& table);

  // From then on the sets counted are the intersections of each pair. Both are of the same nodes.
  // Once: counts of more would overflow.
  void Multiply(const SupersetCounts& others);
  // The sets that were counted, but for the empty one.
  SetTable Table() &&;

 private:
  SetNumbers numbers_;
  std::vector<uint32_t> counts_;  // by the set's number
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_SUPERSET_COUNTS_H_
