#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/node_commands/explain.h"
#include "cli/terminal/table.h"
#include "pictures/rdt_masks.h"
#include "qos/rdt/compile.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Count(size_t number, const char* one, const char* many) {
  return absl::StrCat(number, " ", number == 1 ? one : many);
}

Json SchemataJson(const linux::Schemata& schemata) {
  Json json = Json::object();
  for (const auto& [resource, values] : schemata) {
    for (const auto& [id, value] : values) {
      Json& to = json[resource][absl::StrCat(id)];
      if (absl::StartsWith(resource, "MB")) {
        to = value;
      } else {
        to = linux::SchemataValue(resource, value);
      }
    }
  }
  return json;
}

// The name in class files and in resctrl's documentation.
const char* UnitOf(const linux::ResctrlBandwidthInfo& mb) {
  return mb.mbps ? "MBps" : mb.vendor_steps ? "steps of 1/8 GB/s" : "percent";
}

Json CacheJson(const linux::ResctrlCacheInfo& cache) {
  return {{"ids", cache.ids},
          {"cdp", cache.cdp},
          {"ways", std::bit_width(cache.cbm_mask)},
          {"minWays", cache.min_cbm_bits},
          {"sharedWithDevices", absl::StrCat("0x", absl::Hex(cache.shareable_bits))},
          {"closids", cache.num_closids}};
}

Json MachineJson(const linux::Resctrl& resctrl, const linux::ResctrlInfo& info) {
  Json machine = {{"resctrl", resctrl.mount_point()}, {"mountOptions", resctrl.mount_options()}};
  machine["l2"] = info.l2 ? CacheJson(*info.l2) : Json();
  machine["l3"] = info.l3 ? CacheJson(*info.l3) : Json();
  machine["mb"] = nullptr;  // in the unit of the text
  if (info.mb) {
    machine["mb"] = {{"ids", info.mb->ids},
                     {"unit", UnitOf(*info.mb)},
                     {"min", info.mb->min_bandwidth},
                     {"granularity", info.mb->bandwidth_gran},
                     {"closids", info.mb->num_closids}};
  }
  return machine;
}

Json CompiledJson(const qos::RdtCompiled& compiled) {
  Json json = {{"partitions", Json::array()},
               {"classes", Json::array()},
               {"roundings", Json::array()},
               {"warnings", compiled.warnings}};
  for (const qos::RdtCompiledPartition& one : compiled.partitions) {
    json["partitions"].push_back({{"name", one.name}, {"schemata", SchemataJson(one.schemata)}});
  }
  for (const auto& [name, one] : compiled.classes) {
    json["classes"].push_back({{"name", name},
                               {"partition", one.partition},
                               {"schemata", SchemataJson(one.schemata)},
                               {"denyPodAnnotation", one.deny_pod_annotation},
                               {"denyContainerAnnotation", one.deny_container_annotation}});
  }
  for (const qos::RdtRounding& one : compiled.roundings) {
    json["roundings"].push_back({{"who", one.who},
                                 {"resource", one.resource},
                                 {"ids", one.ids},
                                 {"askedPercent", one.asked_percent},
                                 {"givenPercent", one.given_percent},
                                 {"offPercent", one.OffPercent()},
                                 {"given", one.given}});
  }
  return json;
}

const char* AnnotationsText(const qos::RdtCompiledClass& one) {
  if (one.deny_pod_annotation) return one.deny_container_annotation ? "none" : "of containers";
  return one.deny_container_annotation ? "of pods" : "of pods and containers";
}

std::string ClassTable(const qos::RdtCompiled& compiled) {
  Table table({"CLASS", "PARTITION", "ANNOTATIONS", "SCHEMATA"});
  for (const auto& [name, one] : compiled.classes) {
    table.AddRow({name, Printable(one.partition), AnnotationsText(one), one.Meaning()});
  }
  return table.ToString();
}

// Groups with names of classes, and all others.
struct Groups {
  std::vector<std::string> of_classes;
  std::vector<std::string> others;
  // The groups of `others` that have a task. A captured tree has no tasks.
  std::vector<std::string> in_use;
};

absl::StatusOr<Groups> GroupsOf(const linux::Resctrl& resctrl, const qos::RdtConfig& config,
                                const std::string& prefix) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, resctrl.ControlGroups());
  Groups groups;
  for (const std::string& name : names) {
    bool is_class = false;
    for (const auto& [unused, partition] : config.partitions) {
      is_class = is_class || (absl::StartsWith(name, prefix) &&
                              partition.classes.contains(name.substr(prefix.size())));
    }
    (is_class ? groups.of_classes : groups.others).push_back(name);
    const auto threads = resctrl.Threads(name);
    if (!is_class && threads.ok() && !threads->empty()) groups.in_use.push_back(name);
  }
  return groups;
}

std::vector<std::string> GroupNotes(const Groups& groups) {
  std::vector<std::string> notes;
  if (!groups.of_classes.empty()) {
    notes.push_back(absl::StrCat(
        "resctrl groups with the names of classes are there already: ",
        absl::StrJoin(groups.of_classes, ", "),
        "; if plimsolld did not make them, they are an error at its start, unless `adopt: true` "
        "takes them as they are"));
  }
  if (!groups.others.empty()) {
    notes.push_back(absl::StrCat("resctrl groups of others use up CLOSIDs too: ",
                                 absl::StrJoin(groups.others, ", ")));
  }
  return notes;
}

// Counts all other groups; if they leave no room, only those with tasks. The daemon alone knows its
// own groups, and removes empty ones of these first.
absl::StatusOr<qos::RdtCompiled> Compile(const qos::RdtConfig& config,
                                         const linux::ResctrlInfo& machine, const Groups& groups) {
  absl::StatusOr<qos::RdtCompiled> result = qos::CompileRdt(config, machine, groups.others);
  if (!absl::IsResourceExhausted(result.status()) || groups.others == groups.in_use) return result;
  absl::StatusOr<qos::RdtCompiled> with_room = qos::CompileRdt(config, machine, groups.in_use);
  if (!with_room.ok()) return with_room;
  std::vector<std::string> empty;
  std::set_difference(groups.others.begin(), groups.others.end(), groups.in_use.begin(),
                      groups.in_use.end(), std::back_inserter(empty));
  with_room->warnings.push_back(
      absl::StrCat("there is room only if plimsolld made these groups, now without threads: ",
                   absl::StrJoin(empty, ", "),
                   "; it removes its own first. If others made them: ", result.status().message()));
  return with_room;
}

std::string CacheText(const char* name, const linux::ResctrlCacheInfo& cache) {
  std::string text = absl::StrCat(
      "  ", name, ": ", cache.ids.size() == 1 ? "cache " : "caches ", qos::CacheIdList(cache.ids),
      ", ", Count(static_cast<size_t>(std::bit_width(cache.cbm_mask)), "way", "ways"),
      ", at least ", cache.min_cbm_bits, " of them in a mask, ",
      Count(cache.num_closids, "CLOSID", "CLOSIDs"));
  if (cache.cdp) absl::StrAppend(&text, ", code and data apart");
  if (cache.shareable_bits != 0) {
    absl::StrAppend(&text, ", 0x", absl::Hex(cache.shareable_bits), " used by devices too");
  }
  return text + "\n";
}

}  // namespace

std::string DescribeResctrl(const linux::ResctrlInfo& machine) {
  std::string text;
  if (machine.l2) text += CacheText("L2", *machine.l2);
  if (machine.l3) text += CacheText("L3", *machine.l3);
  if (machine.mb) {
    absl::StrAppend(&text, "  MB: ", machine.mb->ids.size() == 1 ? "cache " : "caches ",
                    qos::CacheIdList(machine.mb->ids), ", in ", UnitOf(*machine.mb), ", ",
                    Count(machine.mb->num_closids, "CLOSID", "CLOSIDs"), "\n");
  }
  if (machine.monitoring) {
    absl::StrAppend(&text, "  monitoring: ", absl::StrJoin(machine.monitoring->features, ", "),
                    ", ", Count(machine.monitoring->num_rmids, "RMID", "RMIDs"), "\n");
  }
  return text.empty() ? "  nothing that could be allocated or monitored\n" : text;
}

absl::Status CheckRdtFile(const std::string& file, const std::string& text) {
  return qos::ParseRdtConfig(file, text).status();
}

absl::StatusOr<Explanation> ExplainRdt(const std::string& file, const std::string& text,
                                       const linux::Resctrl& resctrl,
                                       const std::string& group_prefix) {
  PLIMSOLL_ASSIGN_OR_RETURN(const qos::RdtConfig config, qos::ParseRdtConfig(file, text));
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ResctrlInfo machine, resctrl.ReadInfo());
  PLIMSOLL_ASSIGN_OR_RETURN(const Groups groups, GroupsOf(resctrl, config, group_prefix));
  absl::StatusOr<qos::RdtCompiled> result = Compile(config, machine, groups);
  // An error about the whole file has no position.
  if (!result.ok() && !absl::StartsWith(result.status().message(), file)) {
    return Annotate(result.status(), file);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(qos::RdtCompiled compiled, std::move(result));
  for (std::string& note : GroupNotes(groups)) compiled.warnings.push_back(Printable(note));

  Explanation out;
  const auto& options = resctrl.mount_options();
  out.text =
      absl::StrCat(file, ": ", Count(compiled.partitions.size(), "partition", "partitions"),
                   " and ", Count(compiled.classes.size(), "class", "classes"),
                   ", on the resctrl at ", resctrl.mount_point(),
                   options.empty() ? "" : absl::StrCat(" (", absl::StrJoin(options, ","), ")"),
                   ":\n", DescribeResctrl(machine), "\n", pictures::RdtText(compiled, machine));
  if (!compiled.classes.empty()) absl::StrAppend(&out.text, "\n", ClassTable(compiled));
  out.svg = pictures::RdtSvg(compiled, machine);
  Json json = {{"type", "rdt"}, {"file", file}, {"machine", MachineJson(resctrl, machine)}};
  json.update(CompiledJson(compiled));
  out.json = json.dump(2, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace plimsoll::cli
