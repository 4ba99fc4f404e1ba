// kubelet's packing of CPUs (takeByTopologyNUMAPacked): whole packages and NUMA nodes as long as
// the request fills them, then whole cores, then single CPUs, where the fewest are free first.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_PACKED_TAKER_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_PACKED_TAKER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/cpu_manager/cpu_layout.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

struct PackedStyle {
  bool spread_over_cores = false;  // distribute-cpus-across-cores: no whole cores
  bool align_to_caches = false;    // prefer-align-cpus-by-uncorecache
};

// `count` CPUs of `free`, those only. FAILED_PRECONDITION in kubelet's words: too few.
//
// Deviates from kubelet on irregular machines, so that no CPU is given twice. kubelet takes a
// package or core for free if its number of free CPUs is the machine's average
// (CpuLayout::CpusPer), and takes all of it: on a machine of performance and efficient cores also
// the thread beside one in use. Here all of it must be free, too.
absl::StatusOr<resources::CpuSet> TakePacked(const CpuLayout& layout, const resources::CpuSet& free,
                                             int64_t count, PackedStyle style);

// kubelet's words for TakePacked's failure.
absl::Status NotEnoughCpus(int64_t requested, int64_t available);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_PACKED_TAKER_H_
