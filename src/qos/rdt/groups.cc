#include "qos/rdt/groups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

// The present schemata of a class without a definition.
std::string MeaningNow(const linux::Resctrl& resctrl, const std::string& group) {
  auto schemata = resctrl.ReadSchemata(group);
  if (!schemata.ok()) return "";
  return RdtCompiledClass{.name = "", .partition = "", .schemata = *std::move(schemata)}.Meaning();
}

}  // namespace

const RdtClassGroup* RdtClasses::Find(absl::string_view name) const {
  const auto found = by_name.find(std::string(name));
  return found == by_name.end() ? nullptr : &found->second;
}

// The values of a group that nobody restricts.
linux::Schemata RdtGroups::Defaults() const {
  linux::Schemata defaults;
  const auto cache = [&](const char* level, const std::optional<linux::ResctrlCacheInfo>& info) {
    if (!info) return;
    for (const uint64_t id : info->ids) {
      for (const char* half : {"CODE", "DATA"}) {
        defaults[absl::StrCat(level, info->cdp ? half : "")][id] = info->cbm_mask;
      }
    }
  };
  cache("L2", machine_.l2);
  cache("L3", machine_.l3);
  if (machine_.mb && !machine_.mb->vendor_steps) {
    for (const uint64_t id : machine_.mb->ids) {
      defaults["MB"][id] = machine_.mb->mbps ? std::numeric_limits<uint32_t>::max() : 100;
    }
  }
  return defaults;
}

linux::Schemata RdtGroups::GoalOf(const RdtClassGroup& group) const {
  // An earlier definition may have restricted more than this one.
  linux::Schemata goal = Defaults();
  for (const auto& [resource, values] : group.schemata) goal[resource] = values;
  return goal;
}

std::string RdtGroups::Difference(const RdtClassGroup& group) const {
  if (group.foreign || !ownership_.IsOurs(group.path)) return "";
  if (!resctrl_.HasGroup(group.path)) {
    return absl::StrCat("resctrl group /", group.path, " is gone");
  }
  const auto now = resctrl_.ReadSchemata(group.path);
  if (!now.ok()) return "";  // the write reports the error
  const std::vector<std::string> differences = linux::SchemataDifferences(GoalOf(group), *now);
  if (differences.empty()) return "";
  return absl::StrCat("resctrl group /", group.path, ": ", absl::StrJoin(differences, ", "));
}

absl::Status RdtGroups::AddConfigured(const RdtCompiledClass& compiled, RdtClasses& classes) const {
  RdtClassGroup group = {.schemata = compiled.schemata,
                         .deny_pod_annotation = compiled.deny_pod_annotation,
                         .deny_container_annotation = compiled.deny_container_annotation,
                         .meaning = compiled.Meaning()};
  const bool root = compiled.name == kRdtRootClass;
  if (!root) group.path = absl::StrCat(naming_.prefix, compiled.name);
  if (!root && resctrl_.HasGroup(group.path) && !ownership_.IsOurs(group.path)) {
    if (!naming_.adopt) {
      return absl::AlreadyExistsError(
          absl::StrCat("class \"", compiled.name, "\" needs the resctrl group ",
                       resctrl_.mount_point(), "/", group.path,
                       ", and Plimsoll did not make it; remove it (rmdir), give Plimsoll's "
                       "groups a prefix, or set adopt: true to use it as it is"));
    }
    classes.warnings.push_back(absl::StrCat("class ", compiled.name,
                                            " uses a group that Plimsoll did not make, "
                                            "unchanged; its definition in the file has no effect"));
    group.foreign = true;
    group.schemata.clear();
    group.meaning = absl::StrCat("adopted: ", MeaningNow(resctrl_, group.path));
  }
  classes.by_name[compiled.name] = std::move(group);
  return absl::OkStatus();
}

absl::Status RdtGroups::AddForeign(const std::vector<std::string>& groups,
                                   RdtClasses& classes) const {
  for (const std::string& name : groups) {
    const bool used = std::any_of(classes.by_name.begin(), classes.by_name.end(),
                                  [&](const auto& item) { return item.second.path == name; });
    if (used) continue;
    RdtClassGroup group = {.path = name, .foreign = true};
    group.meaning = absl::StrCat("adopted: ", MeaningNow(resctrl_, name));
    if (!classes.by_name.emplace(name, std::move(group)).second) {
      classes.warnings.push_back(
          absl::StrCat("the group /", name,
                       ", not made by Plimsoll, is not adopted: there is a class of that name"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RdtClasses> RdtGroups::Plan(const RdtConfig& config) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> groups, resctrl_.ControlGroups());
  std::set<std::string> ours_to_be;
  for (const auto& [name, partition] : config.partitions) {
    for (const auto& [class_name, one] : partition.classes) {
      ours_to_be.insert(absl::StrCat(naming_.prefix, class_name));
    }
  }
  std::vector<std::string> foreign;        // taken as classes
  std::vector<std::string> other_closids;  // for counting
  for (const std::string& group : groups) {
    if (!ownership_.IsOurs(group)) foreign.push_back(group);
    if (ours_to_be.count(group) > 0) continue;
    // Our groups that are no class's any more give their CLOSID back, unless a thread is in them.
    const auto threads = resctrl_.Threads(group);
    if (!ownership_.IsOurs(group) || !threads.ok() || !threads->empty()) {
      other_closids.push_back(group);
    }
  }
  PLIMSOLL_ASSIGN_OR_RETURN(RdtCompiled compiled, CompileRdt(config, machine_, other_closids));
  RdtClasses classes;
  classes.warnings = std::move(compiled.warnings);
  for (const auto& [name, one] : compiled.classes) {
    PLIMSOLL_RETURN_IF_ERROR(AddConfigured(one, classes));
  }
  if (classes.by_name.count(kRdtRootClass) == 0) {
    RdtClassGroup root = {.foreign = !ownership_.IsOurs("")};
    root.meaning = absl::StrCat("resctrl's root group: ", MeaningNow(resctrl_, ""));
    classes.by_name[kRdtRootClass] = std::move(root);
  }
  if (naming_.adopt) PLIMSOLL_RETURN_IF_ERROR(AddForeign(foreign, classes));
  return classes;
}

// The steps done so far, undone in reverse order.
class RdtGroups::Change {
 public:
  void OnUndo(std::function<absl::Status()> undo) { undo_.push_back(std::move(undo)); }
  // `status`, with the steps that could not be undone.
  absl::Status Undo(absl::Status status) {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
      const absl::Status undone = (*undo)();
      if (undone.ok()) continue;
      status = AlsoSay(
          status, absl::StrCat("and undoing the earlier steps failed, too: ", undone.message()));
    }
    return status;
  }

 private:
  std::vector<std::function<absl::Status()>> undo_;
};

std::vector<std::string> RdtGroups::Unwanted(const RdtClasses& classes) const {
  std::set<std::string> wanted;
  for (const auto& [name, group] : classes.by_name) wanted.insert(group.path);
  std::vector<std::string> unwanted;
  for (const std::string& group : ownership_.Groups()) {
    if (wanted.count(group) == 0 && !absl::StrContains(group, "mon_groups/")) {
      unwanted.push_back(group);
    }
  }
  return unwanted;
}

void RdtGroups::RemoveUnwanted(RdtClasses& classes) {
  for (const std::string& group : Unwanted(classes)) {
    const auto stays = [&](absl::string_view why) {
      classes.warnings.push_back(
          absl::StrCat("the group /", group, " belongs to no class any more, but stays: ", why));
    };
    const auto threads = resctrl_.Threads(group);
    if (threads.ok() && !threads->empty()) {
      stays(absl::StrCat("thread ", threads->front(), " is in it"));
      continue;
    }
    // Somebody may have removed the group: then its record goes.
    const absl::Status removed = ownership_.Remove(group);
    if (!removed.ok()) stays(removed.message());
  }
}

absl::StatusOr<bool> RdtGroups::RemoveOneUnwanted(const RdtClasses& classes, Change& change) {
  for (const std::string& group : Unwanted(classes)) {
    const auto threads = resctrl_.Threads(group);
    if (!threads.ok() || !threads->empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const linux::Schemata before, resctrl_.ReadSchemata(group));
    PLIMSOLL_RETURN_IF_ERROR(ownership_.Remove(group));
    change.OnUndo([this, group, before]() -> absl::Status {
      PLIMSOLL_RETURN_IF_ERROR(ownership_.Make(group));
      return resctrl_.WriteSchemata(group, before);
    });
    return true;
  }
  return false;
}

absl::Status RdtGroups::MakeGroup(const RdtClasses& classes, const std::string& path,
                                  Change& change) {
  absl::Status made = ownership_.Make(path);
  // A group that is no class's any more may hold the CLOSID that is missing.
  while (absl::IsResourceExhausted(made)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool removed, RemoveOneUnwanted(classes, change));
    if (!removed) return made;
    made = ownership_.Make(path);
  }
  if (made.ok()) change.OnUndo([this, path] { return ownership_.Remove(path); });
  return made;
}

absl::Status RdtGroups::MakeAndWrite(const RdtClasses& classes, const RdtClassGroup& group,
                                     Change& change) {
  const std::string& path = group.path;
  linux::Schemata goal = group.schemata;
  if (path.empty() && !ownership_.IsOurs(path)) {
    PLIMSOLL_RETURN_IF_ERROR(ownership_.Claim(path));
    change.OnUndo([this, path] { return ownership_.Disclaim(path); });
  } else if (!ownership_.IsOurs(path) || !resctrl_.HasGroup(path)) {
    PLIMSOLL_RETURN_IF_ERROR(MakeGroup(classes, path, change));
  } else {
    goal = GoalOf(group);
  }
  if (goal.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::Schemata before, resctrl_.ReadSchemata(path));
  if (linux::SchemataDifferences(goal, before).empty()) return absl::OkStatus();
  change.OnUndo([this, path, before] { return resctrl_.WriteSchemata(path, before); });
  return resctrl_.WriteSchemata(path, goal);
}

absl::Status RdtGroups::MakeAndWriteAll(RdtClasses& classes, Change& change) {
  for (auto& [name, group] : classes.by_name) {
    if (!group.foreign) {
      const absl::Status made = MakeAndWrite(classes, group, change);
      if (!made.ok()) return Annotate(made, absl::StrCat("class \"", name, "\""));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(auto tasks, resctrl_.OpenTasks(group.path));
    group.tasks = std::make_shared<const linux::Resctrl::TasksFile>(std::move(tasks));
  }
  // The root group, restored, is not ours any more. Nothing can fail after this.
  const RdtClassGroup& root = classes.by_name.at(kRdtRootClass);
  if (root.foreign || !root.schemata.empty()) return absl::OkStatus();
  return ownership_.Disclaim("");
}

absl::Status RdtGroups::Apply(RdtClasses& classes) {
  Change change;
  absl::Status made = MakeAndWriteAll(classes, change);
  if (!made.ok()) return change.Undo(std::move(made));
  RemoveUnwanted(classes);
  return absl::OkStatus();
}

void RdtGroups::Reopen(RdtClasses& classes) const {
  for (auto& [name, group] : classes.by_name) {
    auto tasks = resctrl_.OpenTasks(group.path);
    if (!tasks.ok()) continue;
    group.tasks = std::make_shared<const linux::Resctrl::TasksFile>(*std::move(tasks));
  }
}

}  // namespace plimsoll::qos
