// kubelet's even distribution of CPUs over NUMA nodes (takeByTopologyNUMADistributed; KEP-2902):
// over as few nodes as hold the request, the same number from each, what can't be divided from
// those that leave the nodes' free CPUs most alike.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_DISTRIBUTED_TAKER_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_DISTRIBUTED_TAKER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "agent/cpu_manager/cpu_layout.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// `count` CPUs of `free`, those only, in groups of `group_size` (at least 1) per node. Packs them
// (TakePacked) if `count` is no multiple of that or no distribution is even. FAILED_PRECONDITION in
// kubelet's words: too few.
absl::StatusOr<resources::CpuSet> TakeDistributed(const CpuLayout& layout,
                                                  const resources::CpuSet& free, int64_t count,
                                                  int64_t group_size);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_DISTRIBUTED_TAKER_H_
