#include "qos/rdt/compile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "qos/rdt/compile_parts.h"

namespace plimsoll::qos {
namespace {

constexpr double kRoundingToTell = 5.0;  // percent of the asked percentage

// One of l2Allocation, l3Allocation, mbAllocation; the same checks hold for all.
template <typename Allocations>
struct RdtKind {
  const char* resource;  // "L3"
  const char* key;       // "l3Allocation"
  const char* option;    // "l3"
  bool optional;
  bool machine_has_it;
  std::vector<uint64_t> ids;
  std::string lacks;  // the reason why the machine lacks the kind
  std::optional<Allocations> RdtAllocations::*member;
};

// A class can only have part of its partition's allocation.
template <typename Allocations>
void CheckClassesHaveAPartition(const RdtConfig& config, const RdtKind<Allocations>& kind,
                                RdtFaults& faults) {
  for (const auto& [name, partition] : config.partitions) {
    if (partition.allocations.*kind.member) continue;
    for (const auto& [class_name, one] : partition.classes) {
      const std::optional<Allocations>& allocations = one.allocations.*kind.member;
      if (!allocations) continue;
      faults.Add(absl::InvalidArgumentError(absl::StrCat(
          allocations->where, "class \"", class_name,
          "\" has a share of a resource that partition \"", name, "\" lacks; give the partition ",
          kind.key, ": 100%, or remove the class's")));
    }
  }
}

template <typename Allocations>
void WarnOfUnknownIds(const std::string& who, const Allocations& allocations,
                      const std::vector<uint64_t>& ids, RdtCompiled& compiled) {
  std::vector<uint64_t> unknown;
  for (const auto& [id, allocation] : allocations.by_id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) unknown.push_back(id);
  }
  if (unknown.empty()) return;
  compiled.warnings.push_back(absl::StrCat(allocations.where, who, " names cache ids ",
                                           CacheIdList(unknown), "; the machine has ",
                                           CacheIdList(ids)));
}

template <typename Allocations>
void WarnOfAllUnknownIds(const RdtConfig& config, const RdtKind<Allocations>& kind,
                         RdtCompiled& compiled) {
  for (const auto& [name, partition] : config.partitions) {
    if (const auto& allocations = partition.allocations.*kind.member) {
      WarnOfUnknownIds(absl::StrCat("partition ", name), *allocations, kind.ids, compiled);
    }
    for (const auto& [class_name, one] : partition.classes) {
      if (const auto& allocations = one.allocations.*kind.member) {
        WarnOfUnknownIds(absl::StrCat("class ", class_name), *allocations, kind.ids, compiled);
      }
    }
  }
}

// Reports that the machine lacks a kind that the file asks for. As for containerd and CRI-O, it is
// an error only where a class asks and the file doesn't call the kind optional.
template <typename Allocations>
void TellOfLack(const RdtConfig& config, const RdtKind<Allocations>& kind, RdtCompiled& compiled,
                RdtFaults& faults) {
  if (!kind.optional) {
    for (const auto& [name, partition] : config.partitions) {
      for (const auto& [class_name, one] : partition.classes) {
        const auto& allocations = one.allocations.*kind.member;
        if (!allocations) continue;
        faults.Add(absl::FailedPreconditionError(
            absl::StrCat(allocations->where, kind.lacks, "; \"options: {", kind.option,
                         ": {optional: true}}\" goes on without ", kind.resource)));
        return;
      }
    }
  }
  compiled.warnings.push_back(absl::StrCat(
      kind.lacks, ", so every ", kind.key, " of the file is without effect (",
      kind.optional ? "it is optional" : "no class has one of its own, so that is no error", ")"));
}

// Whether to compile the kind: the file asks for it and the machine has it.
template <typename Allocations>
bool IsInForce(const RdtConfig& config, const RdtKind<Allocations>& kind, RdtCompiled& compiled,
               RdtFaults& faults) {
  CheckClassesHaveAPartition(config, kind, faults);
  const bool asked =
      std::any_of(config.partitions.begin(), config.partitions.end(), [&](const auto& partition) {
        return (partition.second.allocations.*kind.member).has_value();
      });
  if (!asked) return false;
  if (kind.machine_has_it) {
    WarnOfAllUnknownIds(config, kind, compiled);
  } else {
    TellOfLack(config, kind, compiled, faults);
  }
  return kind.machine_has_it;
}

// Ways are exclusive only if every partition has a share.
absl::Status CheckEveryPartitionHas(const RdtConfig& config, absl::string_view key,
                                    std::optional<RdtCacheAllocations> RdtAllocations::*member) {
  std::vector<std::string> with;
  for (const auto& [name, partition] : config.partitions) {
    if (partition.allocations.*member) with.push_back(name);
  }
  for (const auto& [name, partition] : config.partitions) {
    if (partition.allocations.*member) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(partition.where, "partition \"", name, "\" has no ", key, ", but ",
                     absl::StrJoin(with, ", "), with.size() == 1 ? " has" : " have",
                     "; partitions share nothing of a cache, so all of them need one or none"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const RdtCompiled& compiled, const linux::ResctrlInfo& machine,
                         const std::vector<std::string>& foreign_groups) {
  std::vector<std::string> names;
  for (const auto& [name, one] : compiled.classes) {
    if (name != kRdtRootClass) names.push_back(name);
  }
  const uint64_t foreign = foreign_groups.size();
  const uint64_t most = machine.MaxGroups();
  if (names.empty() || names.size() + foreign <= most) return absl::OkStatus();
  if (!machine.l2 && !machine.l3 && !machine.mb) {
    return absl::FailedPreconditionError(
        absl::StrCat("the machine's resctrl has nothing to divide; it can't have the rdt classes ",
                     absl::StrJoin(names, ", ")));
  }
  const uint64_t room = most > foreign ? most - foreign : 0;
  const std::vector<std::string> over(names.begin() + static_cast<ptrdiff_t>(room), names.end());
  return absl::ResourceExhaustedError(absl::StrCat(
      "too many rdt classes: the machine has ", most + 1,
      " CLOSIDs, one of them for the root group",
      foreign == 0 ? ""
                   : absl::StrCat(" and groups of others ", foreign, " (",
                                  absl::StrJoin(foreign_groups, ", "), ")"),
      "; no room for ", absl::StrJoin(over, ", "), " of ", absl::StrJoin(names, ", ")));
}

// Processes without a class are in the root group, which starts with the whole cache.
void WarnOfRoot(const RdtConfig& config, RdtCompiled& compiled) {
  if (compiled.classes.count(kRdtRootClass) > 0) return;
  for (const auto& partition : compiled.partitions) {
    for (const auto& [resource, values] : partition.schemata) {
      if (resource[0] != 'L' || config.partitions.size() < 2) continue;
      compiled.warnings.push_back(
          absl::StrCat("processes without a class use every way of the caches, those of exclusive "
                       "partitions too: no partition has the class \"",
                       kRdtRootClass, "\""));
      return;
    }
  }
}

void WarnOfRounding(RdtCompiled& compiled) {
  for (const RdtRounding& rounding : compiled.roundings) {
    if (rounding.OffPercent() > kRoundingToTell) compiled.warnings.push_back(rounding.Text());
  }
}

void CompileCaches(const RdtConfig& config, const linux::ResctrlInfo& machine,
                   RdtCompiled& compiled, RdtFaults& faults) {
  const auto compile = [&](const char* level, const char* key, const char* option, bool optional,
                           const std::optional<linux::ResctrlCacheInfo>& cache,
                           std::optional<RdtCacheAllocations> RdtAllocations::*member) {
    const RdtKind<RdtCacheAllocations> kind = {
        level,
        key,
        option,
        optional,
        cache.has_value(),
        cache ? cache->ids : std::vector<uint64_t>(),
        absl::StrCat("resctrl on the machine does not divide ", level, " caches"),
        member};
    WarnOfRefusedRdtMasks(config, member, cache ? cache->min_cbm_bits : 0, compiled);
    if (!IsInForce(config, kind, compiled, faults)) return;
    const absl::Status all = CheckEveryPartitionHas(config, key, member);
    faults.Add(all);
    if (all.ok()) CompileRdtCache(config, level, member, *cache, compiled, faults);
  };
  compile("L2", "l2Allocation", "l2", config.l2_optional, machine.l2, &RdtAllocations::l2);
  compile("L3", "l3Allocation", "l3", config.l3_optional, machine.l3, &RdtAllocations::l3);
}

void CompileBandwidth(const RdtConfig& config, const linux::ResctrlInfo& machine,
                      RdtCompiled& compiled, RdtFaults& faults) {
  const bool usable = machine.mb && !machine.mb->vendor_steps;
  const RdtKind<RdtBandwidthAllocations> kind = {
      "MB",
      "mbAllocation",
      "mb",
      config.mb_optional,
      usable,
      machine.mb ? machine.mb->ids : std::vector<uint64_t>(),
      machine.mb ? "the machine's memory bandwidth counts in steps of 1/8 GB/s (AMD); neither % "
                   "nor MBps can express them"
                 : "resctrl on the machine does not limit memory bandwidth",
      &RdtAllocations::mb};
  WarnOfRefusedRdtBandwidth(config, machine.mb && machine.mb->mbps, compiled);
  if (IsInForce(config, kind, compiled, faults)) {
    CompileRdtBandwidth(config, *machine.mb, compiled, faults);
  }
}

}  // namespace

absl::StatusOr<RdtCompiled> CompileRdt(const RdtConfig& config, const linux::ResctrlInfo& machine,
                                       const std::vector<std::string>& foreign_groups) {
  RdtCompiled compiled;
  compiled.warnings = config.warnings;
  for (const auto& [name, partition] : config.partitions) {
    compiled.partitions.push_back({.name = name});
    for (const auto& [class_name, one] : partition.classes) {
      compiled.classes[class_name] = {.name = class_name,
                                      .partition = name,
                                      .deny_pod_annotation = one.deny_pod_annotation,
                                      .deny_container_annotation = one.deny_container_annotation};
    }
  }
  RdtFaults faults;
  CompileCaches(config, machine, compiled, faults);
  CompileBandwidth(config, machine, compiled, faults);
  faults.Add(CheckGroups(compiled, machine, foreign_groups));
  PLIMSOLL_RETURN_IF_ERROR(faults.status());
  WarnOfRoot(config, compiled);
  WarnOfRounding(compiled);
  for (std::string& warning : compiled.warnings) warning = Printable(warning);
  return compiled;
}

void AddRdtRounding(const RdtRounding& rounding, RdtCompiled& compiled) {
  if (std::abs(rounding.asked_percent - rounding.given_percent) < 1e-9) return;
  for (RdtRounding& known : compiled.roundings) {
    if (known.who == rounding.who && known.resource == rounding.resource &&
        known.given == rounding.given &&
        std::abs(known.asked_percent - rounding.asked_percent) < 1e-9) {
      known.ids.insert(known.ids.end(), rounding.ids.begin(), rounding.ids.end());
      return;
    }
  }
  compiled.roundings.push_back(rounding);
}

std::string RdtCompiledClass::Meaning() const {
  if (schemata.empty()) return "not restricted";
  return absl::StrJoin(schemata, "; ", [](std::string* out, const auto& line) {
    absl::StrAppend(out, line.first, " ",
                    absl::StrJoin(line.second, ",", [&](std::string* item, const auto& value) {
                      absl::StrAppend(item, value.first, "=",
                                      linux::SchemataValue(line.first, value.second));
                    }));
  });
}

double RdtRounding::OffPercent() const {
  return asked_percent == 0 ? 100 : std::abs(given_percent - asked_percent) / asked_percent * 100;
}

std::string RdtRounding::Text() const {
  return absl::StrFormat("%s: %s of %s %s: %.1f%% asked, %.1f%% given (%s)", who, resource,
                         ids.size() == 1 ? "cache" : "caches", CacheIdList(ids), asked_percent,
                         given_percent, given);
}

std::string CacheIdList(const std::vector<uint64_t>& ids) {
  const std::set<uint64_t> sorted(ids.begin(), ids.end());
  std::string text;
  for (auto it = sorted.begin(); it != sorted.end();) {
    const uint64_t first = *it;
    uint64_t last = first;
    while (++it != sorted.end() && *it == last + 1) last = *it;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last != first) absl::StrAppend(&text, "-", last);
  }
  return text;
}

}  // namespace plimsoll::qos
