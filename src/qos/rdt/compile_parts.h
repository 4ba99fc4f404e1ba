// The parts of CompileRdt; for rdt_compile*.cc only.
#ifndef PLIMSOLL_QOS_RDT_COMPILE_PARTS_H_
#define PLIMSOLL_QOS_RDT_COMPILE_PARTS_H_

#include <optional>
#include <string>

#include "linux/resctrl_info.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/config.h"
#include "qos/rdt/faults.h"

namespace plimsoll::qos {

// Adds the lines of one cache level ("L2", "L3") to partitions and classes, which are there
// already. The level is restricted by every partition and the machine has it.
void CompileRdtCache(const RdtConfig& config, const std::string& level,
                     std::optional<RdtCacheAllocations> RdtAllocations::*member,
                     const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled,
                     RdtFaults& faults);
// The same for MB, which at least one partition restricts.
void CompileRdtBandwidth(const RdtConfig& config, const linux::ResctrlBandwidthInfo& mb,
                         RdtCompiled& compiled, RdtFaults& faults);
// Warns of shares of a level that the machine does not use (of code and data where it doesn't tell
// them apart, or the unified ones where it does) and that containerd and CRI-O would refuse all the
// same: they hold every share against the others.
void WarnOfIdleRdtShares(const RdtConfig& config, const std::string& level,
                         std::optional<RdtCacheAllocations> RdtAllocations::*member,
                         const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled);

// Notes that `who` asked for one percentage and gets another, together with other ids of the same.
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
