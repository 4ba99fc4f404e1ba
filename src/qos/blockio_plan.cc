#include "qos/blockio_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/text/printable.h"
#include "linux/cgroup/line_files.h"

namespace plimsoll::qos {
namespace {

// Weights are the same number in each file: BFQ (1 to 1000) and iocost (1 to 10000) both default to
// 100 and share out in proportion. OCI runtimes stretch 10..1000 to 1..10000 for io.weight, which
// makes 707 of 80: a group that should yield would win.
constexpr char kDefaultWeight[] = "100";

struct Throttle {
  const char* v1_file;
  const char* v2_key;
  const char* unit;  // for people
  bool is_bytes;
  std::optional<uint64_t> BlockioLimits::*limit;
};

constexpr Throttle kThrottles[] = {
    {"blkio.throttle.read_bps_device", "rbps", "read #/s", true, &BlockioLimits::read_bps},
    {"blkio.throttle.write_bps_device", "wbps", "write #/s", true, &BlockioLimits::write_bps},
    {"blkio.throttle.read_iops_device", "riops", "# reads/s", false, &BlockioLimits::read_iops},
    {"blkio.throttle.write_iops_device", "wiops", "# writes/s", false, &BlockioLimits::write_iops},
};

// The number in the largest unit that leaves none of it out: "50 MiB", "1000 B".
std::string WholeBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return absl::StrCat(bytes, " ", kUnits[unit]);
}

std::string LimitsText(const BlockioLimits& limits) {
  std::vector<std::string> parts;
  for (const Throttle& throttle : kThrottles) {
    const std::optional<uint64_t> value = limits.*throttle.limit;
    if (value.value_or(0) == 0) continue;
    const absl::string_view unit = throttle.unit;
    const size_t hash = unit.find('#');
    parts.push_back(absl::StrCat(unit.substr(0, hash),
                                 throttle.is_bytes ? WholeBytes(*value) : absl::StrCat(*value),
                                 unit.substr(hash + 1)));
  }
  if (limits.weight) parts.push_back(absl::StrCat("weight ", *limits.weight));
  return parts.empty() ? "no limits" : absl::StrJoin(parts, ", ");
}

void Overlay(const BlockioLimits& later, BlockioLimits& limits) {
  for (const Throttle& throttle : kThrottles) {
    if (later.*throttle.limit) limits.*throttle.limit = later.*throttle.limit;
  }
  if (later.weight) limits.weight = later.weight;
}

// "8:0 rbps=max ..." without the number; empty when there is no limit at all.
std::string IoMax(const BlockioLimits& limits) {
  std::vector<std::string> parts;
  bool limited = false;
  for (const Throttle& throttle : kThrottles) {
    const uint64_t value = (limits.*throttle.limit).value_or(0);
    limited = limited || value != 0;
    parts.push_back(absl::StrCat(throttle.v2_key, "=", value == 0 ? "max" : absl::StrCat(value)));
  }
  return limited ? absl::StrJoin(parts, " ") : "";
}

// Warns of weights without effect.
void CheckWeights(const BlockioMachine& machine, BlockioPlan& plan) {
  const char* remedy = machine.v2 ? "\"bfq\" or iocost (io.cost.qos) would" : "\"bfq\" would";
  for (const BlockioDisk& each : plan.disks) {
    if (!each.limits.weight || machine.HeedsWeight(each.disk)) continue;
    plan.warnings.push_back(absl::StrCat(
        "weight ", *each.limits.weight, " has no effect on ", each.disk.name, ": ",
        each.disk.scheduler.empty()
            ? "it has no I/O scheduler"
            : absl::StrCat("its I/O scheduler \"", each.disk.scheduler, "\" does not heed weights"),
        "; ", remedy));
  }
  const auto heeds = [&](const linux::Disk& disk) { return machine.HeedsWeight(disk); };
  if (plan.weight && absl::c_none_of(machine.devices.disks(), heeds)) {
    plan.warnings.push_back(absl::StrCat("weight ", *plan.weight,
                                         " has no effect: no disk of this machine has an I/O "
                                         "scheduler that heeds weights; ",
                                         remedy));
  }
}

bool IsWeightFile(absl::string_view file) {
  return absl::StrContains(file, "weight");
}

}  // namespace

std::string BlockioPlan::Meaning() const {
  std::vector<std::string> parts;
  if (weight) parts.push_back(absl::StrCat("default weight ", *weight));
  for (const BlockioDisk& each : disks) {
    parts.push_back(absl::StrCat(each.disk.name, ": ", LimitsText(each.limits)));
  }
  return parts.empty() ? "no limits" : absl::StrJoin(parts, "; ");
}

BlockioPlan PlanBlockio(const BlockioClass& definition, const BlockioMachine& machine) {
  BlockioPlan plan;
  std::map<linux::DeviceNumber, BlockioDisk> disks;
  for (const BlockioEntry& entry : definition.entries) {
    if (entry.devices.empty() && entry.limits.weight) plan.weight = entry.limits.weight;
    for (const std::string& pattern : entry.devices) {
      const auto match = machine.devices.Match(pattern);
      const std::string problem =
          match.ok() ? match->problem : std::string(match.status().message());
      if (!problem.empty()) {
        plan.warnings.push_back(Printable(absl::StrCat("device pattern ", pattern, ": ", problem)));
        continue;
      }
      for (const linux::Disk& disk : match->disks) {
        BlockioDisk& each = disks.try_emplace(disk.number, BlockioDisk{disk, {}}).first->second;
        Overlay(entry.limits, each.limits);
      }
    }
  }
  for (auto& [number, disk] : disks) plan.disks.push_back(std::move(disk));
  CheckWeights(machine, plan);
  return plan;
}

std::vector<FileContent> BlockioFiles(bool v2) {
  const ControlFile weight = {.controller = "io",
                              .name = "io.weight",
                              .keyed = true,
                              .reset = "default",
                              .default_value = kDefaultWeight,
                              .optional = true};
  if (v2) {
    ControlFile bfq = weight;
    bfq.name = "io.bfq.weight";
    return {{.file = {.controller = "io",
                      .name = "io.max",
                      .keyed = true,
                      .reset = std::string(*linux::LineReset("io.max"))},
             .lines = {}},
            {.file = bfq, .lines = {}},
            {.file = weight, .lines = {}}};
  }
  std::vector<FileContent> files;
  for (const Throttle& throttle : kThrottles) {
    files.push_back(
        {.file = {.controller = "blkio", .name = throttle.v1_file, .keyed = true, .reset = "0"},
         .lines = {}});
  }
  // The file of devices repeats the default weight as a line "default".
  files.push_back({.file = {.controller = "blkio",
                            .name = "blkio.bfq.weight",
                            .reset = kDefaultWeight,
                            .optional = true},
                   .lines = {}});
  files.push_back({.file = {.controller = "blkio",
                            .name = "blkio.bfq.weight_device",
                            .keyed = true,
                            .reset = "default",
                            .optional = true},
                   .lines = {}});
  return files;
}

bool OwnsFile(const BlockioClass& definition, absl::string_view file) {
  return absl::c_any_of(definition.entries, [&](const BlockioEntry& entry) {
    return IsWeightFile(file) ? entry.limits.weight.has_value() : entry.limits.HasThrottle();
  });
}

FileLines LinesOf(const BlockioPlan& plan, const BlockioMachine& machine, absl::string_view file) {
  FileLines lines;
  const bool of_bfq = absl::StrContains(file, "bfq");
  if (plan.weight && file == "blkio.bfq.weight") lines[""] = absl::StrCat(*plan.weight);
  if (plan.weight && machine.v2 && IsWeightFile(file)) {
    lines["default"] = absl::StrCat(*plan.weight);
  }
  for (const auto& [disk, limits] : plan.disks) {
    std::string value;
    if (file == "io.max") {
      value = IoMax(limits);
    } else if (IsWeightFile(file)) {
      const bool heeded = of_bfq ? disk.scheduler == "bfq" : machine.io_cost.contains(disk.number);
      if (heeded && limits.weight && file != "blkio.bfq.weight") {
        value = absl::StrCat(*limits.weight);
      }
    } else {
      for (const Throttle& throttle : kThrottles) {
        const uint64_t limit = (limits.*throttle.limit).value_or(0);
        if (file == throttle.v1_file && limit != 0) value = absl::StrCat(limit);
      }
    }
    if (!value.empty()) lines[linux::FormatDeviceNumber(disk.number)] = value;
  }
  return lines;
}

}  // namespace plimsoll::qos
