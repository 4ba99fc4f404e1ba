// Memory bandwidth: a partition's is the most that its classes can have.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/rdt_compile_parts.h"

namespace plimsoll::qos {
namespace {

constexpr char kResource[] = "MB";
constexpr uint64_t kNoLimitMbps = std::numeric_limits<uint32_t>::max();

// In the unit that counts on the machine. Where nothing is said: all.
absl::StatusOr<uint64_t> Wanted(const std::optional<RdtBandwidthAllocations>& allocations,
                                uint64_t id, bool mbps) {
  const RdtBandwidthAllocation* const one = RdtAllocationFor(allocations, id);
  if (one == nullptr) return mbps ? kNoLimitMbps : 100;
  const std::optional<uint64_t>& value = mbps ? one->mbps : one->percent;
  if (value) return *value;
  return absl::InvalidArgumentError(absl::StrCat(
      one->where, "MB of cache ", id, " has no value in ", mbps ? "MBps" : "%",
      mbps ? ", which counts here: resctrl is mounted with mba_MBps; write [50%, 1000MBps]"
           : ", which counts here: resctrl is mounted without mba_MBps; write [50%, 1000MBps]"));
}

// As the kernel rounds a percentage when it is written, so that what is read later is the same.
uint64_t Rounded(uint64_t percent_times_100, const linux::ResctrlBandwidthInfo& mb) {
  const uint64_t percent = std::max(percent_times_100 / 100, mb.min_bandwidth);
  const uint64_t step = std::max<uint64_t>(mb.bandwidth_gran, 1);
  return std::min<uint64_t>((percent + step - 1) / step * step, 100);
}

void NoteRounding(const std::string& who, uint64_t id, double asked, uint64_t given,
                  RdtCompiled& compiled) {
  AddRdtRounding({.who = who,
                  .resource = kResource,
                  .ids = {id},
                  .asked_percent = asked,
                  .given_percent = static_cast<double>(given),
                  .given = absl::StrCat(given, "%")},
                 compiled);
}

absl::Status CompileClass(const std::string& name, const RdtClassConfig& one, uint64_t id,
                          uint64_t upper, const linux::ResctrlBandwidthInfo& mb,
                          RdtCompiled& compiled) {
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t wanted, Wanted(one.allocations.mb, id, mb.mbps));
  uint64_t& value = compiled.classes.at(name).schemata[kResource][id];
  if (mb.mbps) {
    value = std::min(wanted, upper);
    return absl::OkStatus();
  }
  value = Rounded(wanted * upper, mb);
  NoteRounding(absl::StrCat("class ", name), id, static_cast<double>(wanted * upper) / 100, value,
               compiled);
  return absl::OkStatus();
}

}  // namespace

absl::Status CompileRdtBandwidth(const RdtConfig& config, const linux::ResctrlBandwidthInfo& mb,
                                 RdtCompiled& compiled) {
  for (RdtCompiledPartition& partition : compiled.partitions) {
    const RdtPartitionConfig& configured = config.partitions.at(partition.name);
    for (const uint64_t id : mb.ids) {
      PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t upper,
                                Wanted(configured.allocations.mb, id, mb.mbps));
      partition.schemata[kResource][id] = upper;
      for (const auto& [name, one] : configured.classes) {
        PLIMSOLL_RETURN_IF_ERROR(CompileClass(name, one, id, upper, mb, compiled));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
