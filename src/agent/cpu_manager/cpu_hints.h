// The sets of NUMA nodes that could hold a request for CPUs.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_CPU_HINTS_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_CPU_HINTS_H_

#include <cstdint>
#include <vector>

#include "agent/cpu_manager/cpu_layout.h"
#include "agent/topology_manager/hint.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// All sets of nodes in which `free` and `reusable` have `count` CPUs and which have all of
// `reusable`: the smaller ones first, of equals those with the lower first node. Preferred are
// those with as few nodes as could hold the request on an idle machine, and with `align_by_socket`
// also those on as few packages as these nodes fill.
//
// Their number doubles with each node. Sets beyond the first 2^20 are left out: none on a machine
// of up to 20 nodes. So are nodes from NodeMask::kMost on.
std::vector<Hint> CpuHints(const CpuLayout& layout, int64_t count, const resources::CpuSet& free,
                           const resources::CpuSet& reusable, bool align_by_socket,
                           HintChoice choice = HintChoice::kAll);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_CPU_HINTS_H_
