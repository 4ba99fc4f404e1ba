#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/node_commands/explain.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "qos/blockio_config.h"
#include "qos/blockio_machine.h"
#include "qos/blockio_plan.h"
#include "qos/class_file.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;
using Limit = std::optional<uint64_t>;

std::string BytesPerSecond(const Limit& limit) {
  return limit.value_or(0) == 0 ? "-" : absl::StrCat(HumanBytes(*limit), "/s");
}

std::string PerSecond(const Limit& limit) {
  return limit.value_or(0) == 0 ? "-" : absl::StrCat(*limit, "/s");
}

Json LimitJson(const Limit& limit) {
  return limit ? Json(*limit) : Json();
}

Json ClassJson(const qos::BlockioClass& definition, const qos::BlockioPlan& plan,
               const qos::BlockioMachine& machine) {
  Json disks = Json::array();
  for (const auto& [disk, limits] : plan.disks) {
    disks.push_back({{"name", disk.name},
                     {"number", linux::FormatDeviceNumber(disk.number)},
                     {"readBps", LimitJson(limits.read_bps)},
                     {"writeBps", LimitJson(limits.write_bps)},
                     {"readIops", LimitJson(limits.read_iops)},
                     {"writeIops", LimitJson(limits.write_iops)},
                     {"weight", LimitJson(limits.weight)}});
  }
  Json files = Json::object();
  for (const qos::FileContent& each : qos::BlockioFiles(machine.v2)) {
    for (const auto& [key, value] : qos::LinesOf(plan, machine, each.file.name)) {
      files[each.file.name].push_back(key.empty() ? value : absl::StrCat(key, " ", value));
    }
  }
  return {{"name", definition.name},          {"meaning", plan.Meaning()},
          {"weight", LimitJson(plan.weight)}, {"disks", std::move(disks)},
          {"files", std::move(files)},        {"warnings", plan.warnings}};
}

void AddRows(const qos::BlockioClass& definition, const qos::BlockioPlan& plan, Table& table) {
  if (plan.weight) {
    table.AddRow({definition.name, "others", "-", "-", "-", "-", absl::StrCat(*plan.weight)});
  }
  for (const auto& [disk, limits] : plan.disks) {
    table.AddRow({definition.name, disk.name, BytesPerSecond(limits.read_bps),
                  BytesPerSecond(limits.write_bps), PerSecond(limits.read_iops),
                  PerSecond(limits.write_iops),
                  limits.weight ? absl::StrCat(*limits.weight) : "-"});
  }
  if (!plan.weight && plan.disks.empty()) {
    table.AddRow({definition.name, "none", "-", "-", "-", "-", "-"});
  }
}

std::string DisksText(const qos::BlockioMachine& machine) {
  std::vector<std::string> disks;
  for (const linux::Disk& disk : machine.devices.disks()) {
    // Loop devices and the like are many, and seldom of interest.
    if (absl::StartsWith(disk.name, "loop") || absl::StartsWith(disk.name, "ram")) continue;
    const std::string scheduler = disk.scheduler.empty() ? "no" : disk.scheduler;
    disks.push_back(absl::StrCat(disk.name, " (", linux::FormatDeviceNumber(disk.number),
                                 ", scheduler ", scheduler,
                                 machine.HeedsWeight(disk) ? ", heeds weights)" : ")"));
  }
  return disks.empty() ? "none" : absl::StrJoin(disks, ", ");
}

// Limitations of cgroup v1 that concern a class of the file.
std::string BufferedNote(const qos::BlockioConfig& config) {
  for (const qos::BlockioClass& each : config.classes) {
    for (const qos::BlockioEntry& entry : each.entries) {
      if (entry.limits.write_bps.value_or(0) == 0 && entry.limits.write_iops.value_or(0) == 0) {
        continue;
      }
      return "throttles of writes reach only direct and synchronous writes: with cgroup v1 the "
             "kernel writes back buffered data in its own name";
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> ClassTypeOf(const std::string& file, const std::string& text) {
  std::string type;
  std::vector<std::string> warnings;  // each reader of the file repeats them
  const auto read = [&](YamlReader&, const YAML::Node& node) {
    if (!node.IsMap()) return;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) continue;
      const std::string& key = item.first.Scalar();
      if (absl::EqualsIgnoreCase(key, "Classes")) type = "blockio";
      if (absl::EqualsIgnoreCase(key, "partitions") || absl::EqualsIgnoreCase(key, "options")) {
        type = "rdt";
      }
    }
  };
  PLIMSOLL_RETURN_IF_ERROR(qos::ReadClassFile(text, file, read, &warnings));
  if (!type.empty()) return type;
  return absl::InvalidArgumentError(
      absl::StrCat(file,
                   ": the file's class type is unknown: a file of rdt has the key "
                   "\"partitions\", a file of blockio \"Classes\"; --type names it too"));
}

absl::StatusOr<Explanation> ExplainBlockio(const std::string& file, const std::string& text,
                                           const FsRoot& host,
                                           const linux::CgroupManager& cgroups) {
  PLIMSOLL_ASSIGN_OR_RETURN(const qos::BlockioMachine machine,
                            qos::LookAtBlockioMachine(host, cgroups));
  PLIMSOLL_ASSIGN_OR_RETURN(const qos::BlockioConfig config,
                            qos::ParseBlockioConfig(text, file, machine.v2));
  Table table({"CLASS", "DISK", "READ", "WRITE", "READS", "WRITES", "WEIGHT"});
  Json classes = Json::array();
  std::vector<std::string> warnings = config.warnings;
  for (const qos::BlockioClass& each : config.classes) {
    const qos::BlockioPlan plan = qos::PlanBlockio(each, machine);
    AddRows(each, plan, table);
    classes.push_back(ClassJson(each, plan, machine));
    for (const std::string& warning : plan.warnings) {
      warnings.push_back(absl::StrCat("class ", each.name, ": ", warning));
    }
  }
  const std::string buffered = machine.v2 ? "" : BufferedNote(config);
  if (!buffered.empty()) warnings.push_back(buffered);

  Explanation out;
  out.text = absl::StrCat(file, ": ", config.classes.size(),
                          config.classes.size() == 1 ? " class" : " classes", ", with cgroup v",
                          machine.v2 ? 2 : 1, ", on the disks ", DisksText(machine), "\n\n",
                          table.ToString());
  if (!warnings.empty()) {
    absl::StrAppend(&out.text, "\nTo know:\n  ", absl::StrJoin(warnings, "\n  "), "\n");
  }
  const Json json = {{"type", "blockio"},
                     {"file", file},
                     {"cgroupVersion", machine.v2 ? 2 : 1},
                     {"classes", std::move(classes)},
                     {"warnings", warnings}};
  out.json = json.dump(2, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace plimsoll::cli
