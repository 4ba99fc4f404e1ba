// Memory bandwidth: a partition's is the upper bound of its classes'.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "qos/rdt/compile_parts.h"

namespace plimsoll::qos {
namespace {

constexpr char kResource[] = "MB";
constexpr uint64_t kNoLimitMbps = std::numeric_limits<uint32_t>::max();

constexpr char kUnits[] = "; write [50%, 1000MBps]";

// The value in the unit that counts on the machine; all, without an allocation. nullopt after a
// fault.
std::optional<uint64_t> Wanted(const std::optional<RdtBandwidthAllocations>& allocations,
                               uint64_t id, bool mbps, RdtFaults& faults) {
  const RdtBandwidthAllocation* const one = RdtAllocationFor(allocations, id);
  if (one == nullptr) return mbps ? kNoLimitMbps : 100;
  const std::optional<uint64_t>& value = mbps ? one->mbps : one->percent;
  if (value) return *value;
  const std::string& error = mbps ? one->mbps_error : one->percent_error;
  const std::string why =
      error.empty() ? absl::StrCat("there is no value in ", mbps ? "MBps" : "%") : error;
  faults.AddOfCache(absl::StatusCode::kInvalidArgument, one->where, kResource, id,
                    absl::StrCat(": ", why, ", the unit of the machine: resctrl is mounted ",
                                 mbps ? "with" : "without", " mba_MBps", kUnits));
  return std::nullopt;
}

// Rounds a percentage as the kernel does on a write, so that a later read returns the same.
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

void CompileClass(const std::string& name, const RdtClassConfig& one, uint64_t id,
                  std::optional<uint64_t> upper, const linux::ResctrlBandwidthInfo& mb,
                  RdtCompiled& compiled, RdtFaults& faults) {
  const std::optional<uint64_t> wanted = Wanted(one.allocations.mb, id, mb.mbps, faults);
  if (!wanted || !upper) return;
  uint64_t& value = compiled.classes.at(name).schemata[kResource][id];
  if (mb.mbps) {
    value = std::min(*wanted, *upper);
    return;
  }
  value = Rounded(*wanted * *upper, mb);
  NoteRounding(absl::StrCat("class ", name), id, static_cast<double>(*wanted * *upper) / 100, value,
               compiled);
}

}  // namespace

void CompileRdtBandwidth(const RdtConfig& config, const linux::ResctrlBandwidthInfo& mb,
                         RdtCompiled& compiled, RdtFaults& faults) {
  for (RdtCompiledPartition& partition : compiled.partitions) {
    const RdtPartitionConfig& configured = config.partitions.at(partition.name);
    for (const uint64_t id : mb.ids) {
      const std::optional<uint64_t> upper = Wanted(configured.allocations.mb, id, mb.mbps, faults);
      if (upper) partition.schemata[kResource][id] = *upper;
      for (const auto& [name, one] : configured.classes) {
        CompileClass(name, one, id, upper, mb, compiled, faults);
      }
    }
  }
}

}  // namespace plimsoll::qos
