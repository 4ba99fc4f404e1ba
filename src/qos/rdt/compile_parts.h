// The steps of CompileRdt; for compile*.cc only.
#ifndef PLIMSOLL_QOS_RDT_COMPILE_PARTS_H_
#define PLIMSOLL_QOS_RDT_COMPILE_PARTS_H_

#include <optional>
#include <string>

#include "linux/resctrl_info.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/config.h"
#include "qos/rdt/faults.h"

namespace plimsoll::qos {

// Adds the lines of one cache level ("L2", "L3") to the existing partitions and classes. Every
// partition must restrict the level, and the machine must have it.
void CompileRdtCache(const RdtConfig& config, const std::string& level,
                     std::optional<RdtCacheAllocations> RdtAllocations::*member,
                     const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled,
                     RdtFaults& faults);
// The same for MB; at least one partition must restrict it.
void CompileRdtBandwidth(const RdtConfig& config, const linux::ResctrlBandwidthInfo& mb,
                         RdtCompiled& compiled, RdtFaults& faults);
// Warns of shares of a level that the machine does not use (code and data without CDP, the unified
// ones with it) but that containerd and CRI-O would refuse: they check every share against the
// others.
void WarnOfIdleRdtShares(const RdtConfig& config, const std::string& level,
                         std::optional<RdtCacheAllocations> RdtAllocations::*member,
                         const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled);

// Warns of masks of a level that containerd and CRI-O refuse wherever they stand, also for caches
// that the machine lacks: with gaps, or with fewer than `min_bits` bits (0: the machine lacks the
// level).
void WarnOfRefusedRdtMasks(const RdtConfig& config,
                           std::optional<RdtCacheAllocations> RdtAllocations::*member,
                           uint64_t min_bits, RdtCompiled& compiled);
// The same of bandwidths without a value in the unit that counts: MBps, or percent.
void WarnOfRefusedRdtBandwidth(const RdtConfig& config, bool mbps, RdtCompiled& compiled);

// Adds a rounding, merged with equal ones of other ids.
void AddRdtRounding(const RdtRounding& rounding, RdtCompiled& compiled);

// The allocation for a cache id; null when there is none.
template <typename Allocation>
const Allocation* RdtAllocationFor(const std::optional<RdtByCacheId<Allocation>>& allocations,
                                   uint64_t id) {
  if (!allocations) return nullptr;
  const auto own = allocations->by_id.find(id);
  if (own != allocations->by_id.end()) return &own->second;
  return allocations->all ? &*allocations->all : nullptr;
}

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_COMPILE_PARTS_H_
