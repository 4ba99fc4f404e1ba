#include "qos/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

const char* LevelName(Level level) {
  return level == Level::kPod ? "pod" : "container";
}

std::string Quoted(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "\"", name, "\"");
  });
}

std::vector<std::string> NamesOf(const std::vector<ClassInfo>& classes) {
  std::vector<std::string> names;
  for (const ClassInfo& info : classes) names.push_back(info.name);
  return names;
}

using FileOwners = std::map<std::pair<Level, std::string>, std::string>;  // names of types

// Names the file that brings cpu.weight along (CgroupClassType): the configuration may have no
// other.
std::string WhyWeight(const FileOwners& owners, Level level, const std::string& file) {
  if (file != "cpu.weight") return "";
  const auto idle = owners.find({level, "cpu.idle"});
  if (idle == owners.end()) return "";
  return absl::StrCat(", and cpu.idle, which \"", idle->second, "\" sets, changes cpu.weight too");
}

// Two types that write one file would undo each other.
absl::Status CheckFiles(const std::vector<std::unique_ptr<ClassType>>& types) {
  FileOwners owners;
  for (const auto& type : types) {
    std::vector<std::string> files;
    for (const ClassInfo& info : type->classes()) {
      const std::vector<std::string> some = type->OwnedFiles(info.name);
      files.insert(files.end(), some.begin(), some.end());
    }
    for (const std::string& file : files) {
      const auto [at, is_new] = owners.insert({{type->level(), file}, type->name()});
      if (is_new || at->second == type->name()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("class types \"", at->second, "\" and \"", type->name(), "\" both set ",
                       file, " of a ", LevelName(type->level()), "; a file belongs to one type",
                       WhyWeight(owners, type->level(), file)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Registry>> Registry::Create(
    std::vector<std::unique_ptr<ClassType>> types, std::vector<UnavailableType> unavailable) {
  for (auto one = types.begin(); one != types.end(); ++one) {
    for (auto other = types.begin(); other != one; ++other) {
      if ((*one)->name() != (*other)->name() || (*one)->level() != (*other)->level()) continue;
      return absl::InvalidArgumentError(absl::StrCat("two class types of ",
                                                     LevelName((*one)->level()), "s are named \"",
                                                     (*one)->name(), "\""));
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckFiles(types));
  return std::unique_ptr<Registry>(new Registry(std::move(types), std::move(unavailable)));
}

ClassType* Registry::Find(Level level, const std::string& name) const {
  for (const auto& type : types_) {
    if (type->level() == level && type->name() == name) return type.get();
  }
  return nullptr;
}

const UnavailableType* Registry::FindUnavailable(Level level, const std::string& name) const {
  for (const UnavailableType& one : unavailable_) {
    if (one.level == level && one.name == name) return &one;
  }
  return nullptr;
}

bool Registry::Has(Level level, const std::string& type) const {
  return Find(level, type) != nullptr;
}

absl::Status Registry::Refuse(const std::string& type, const char* reason, absl::Status status) {
  ++refusals_[{type, reason}];
  return status;
}

absl::StatusOr<ClassType*> Registry::Need(Level level, const std::string& target_name,
                                          const std::string& name) {
  if (ClassType* type = Find(level, name); type != nullptr) return type;
  std::vector<std::string> names;
  for (const auto& type : types_) {
    if (type->level() == level) names.push_back(type->name());
  }
  std::string message = absl::StrCat(target_name, ": no class type \"", name, "\" for a ",
                                     LevelName(level), "; there are: ", Quoted(names));
  if (const UnavailableType* one = FindUnavailable(level, name); one != nullptr) {
    absl::StrAppend(&message, " (", name, " is configured, but: ", one->reason, ")");
  }
  // Counted under one name: clients may invent any number of types.
  return Refuse("", "unknown_type", absl::NotFoundError(message));
}

absl::StatusOr<ClassInfo> Registry::NeedClass(const ClassType& type, const std::string& target_name,
                                              const std::string& asked) {
  const std::string name = asked.empty() ? type.default_class() : asked;
  const std::vector<ClassInfo> classes = type.classes();
  const auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const ClassInfo& info) { return info.name == name; });
  if (at != classes.end()) return *at;
  const std::string what =
      asked.empty() ? absl::StrCat("type \"", type.name(), "\" has no default class, name one")
                    : absl::StrCat("type \"", type.name(), "\" has no class \"", name, "\"");
  return Refuse(type.name(), "unknown_class",
                absl::NotFoundError(absl::StrCat(target_name, ": ", what,
                                                 "; there are: ", Quoted(NamesOf(classes)))));
}

absl::Status Registry::CheckCapacity(const ClassType& type, const ClassInfo& info,
                                     const std::string& target_name) {
  const auto used = used_.find({&type, info.name});
  if (info.capacity == 0 || used == used_.end() || used->second < info.capacity) {
    return absl::OkStatus();
  }
  return Refuse(
      type.name(), "capacity",
      absl::ResourceExhaustedError(absl::StrCat(
          target_name, ": class \"", info.name, "\" of type \"", type.name(), "\" is full: ",
          info.capacity == 1 ? std::string("its only place is taken")
                             : absl::StrCat("its ", info.capacity, " places are taken"))));
}

absl::StatusOr<HeldClasses> Registry::Reserve(Level level, const std::string& id,
                                              const std::string& target_name,
                                              const ClassNames& asked) {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, unused] : asked) {
    PLIMSOLL_RETURN_IF_ERROR(Need(level, target_name, name).status());
  }
  Entry entry{level, target_name, {}, {}};
  for (const auto& type : types_) {
    if (type->level() != level) continue;
    const auto named = asked.find(type->name());
    if (named == asked.end() && type->default_class().empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(
        const ClassInfo info,
        NeedClass(*type, target_name, named == asked.end() ? std::string() : named->second));
    PLIMSOLL_RETURN_IF_ERROR(CheckCapacity(*type, info, target_name));
    entry.held[type->name()] = {
        .name = info.name, .implicit = named == asked.end(), .files = type->OwnedFiles(info.name)};
  }
  for (const auto& [type, held] : entry.held) ++used_[{Find(level, type), held.name}];
  HeldClasses held = entry.held;
  entries_[id] = std::move(entry);
  changed_.Ring();
  return held;
}

void Registry::Cancel(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(at->second.level, name);
    if (const auto used = used_.find({type, held.name}); used != used_.end() && used->second > 0) {
      --used->second;
    }
  }
  entries_.erase(at);
  changed_.Ring();
}

absl::Status Registry::AdoptOne(const Target& target, const std::string& type_name,
                                HeldClass* one) {
  ClassType* type = Find(target.level, type_name);
  absl::Status back;
  if (type != nullptr && !one->changing_to.empty()) {
    // Equal names: taking its first class was cut off, and is finished.
    const std::string from = one->changing_to == one->name ? std::string() : one->changing_to;
    back = one->name.empty() ? type->Release(target, one->changing_to)
                             : type->Assign(target, from, one->name);
  }
  if (back.ok()) one->changing_to.clear();
  if (one->name.empty()) return back;
  if (std::string why = WhyGone(target.level, type_name, one->name); !why.empty()) {
    return BothErrors(
        back, absl::FailedPreconditionError(absl::StrCat(
                  "it holds class \"", one->name, "\" of type \"", type_name,
                  "\" since before this start: ", why, "; the class's settings stay as they are")));
  }
  const absl::Status adopted = type->Adopt(target, one->name, one->files);
  if (adopted.ok()) one->files = type->OwnedFiles(one->name);
  return BothErrors(back, adopted);
}

absl::Status Registry::Adopt(const Target& target, HeldClasses* held) {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::Status status;
  for (auto one = held->begin(); one != held->end();) {
    status = BothErrors(status, AdoptOne(target, one->first, &one->second));
    const bool is_nothing = one->second.name.empty() && one->second.changing_to.empty();
    one = is_nothing ? held->erase(one) : std::next(one);
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, one] : *held) ++used_[{Find(target.level, name), one.name}];
  entries_[target.id] = {target.level, target.name, *held, target};
  changed_.Ring();
  return status;
}

absl::Status Registry::Undo(const Target& target, const std::vector<Step>& steps, size_t done,
                            absl::Status status) {
  while (done-- > 0) {
    const Step& step = steps[done];
    const absl::Status undone = step.from.empty() ? step.type->Release(target, step.to)
                                                  : step.type->Assign(target, step.to, step.from);
    if (!undone.ok()) {
      status =
          AlsoSay(status, absl::StrCat("and undoing the earlier steps failed: ", undone.message()));
    }
  }
  return status;
}

absl::Status Registry::Take(const Target& target, const std::vector<Step>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::Status status = steps[i].type->Assign(target, steps[i].from, steps[i].to);
    if (status.ok()) continue;
    status = Annotate(status, absl::StrCat(target.name, ": class \"", steps[i].to, "\" of type \"",
                                           steps[i].type->name(), "\""));
    status = Undo(target, steps, i, std::move(status));
    absl::MutexLock lock(&mutex_);
    return Refuse(steps[i].type->name(), "kernel", std::move(status));
  }
  return absl::OkStatus();
}

absl::Status Registry::Enforce(const Target& target) {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<Step> steps;
  {
    absl::MutexLock lock(&mutex_);
    const auto at = entries_.find(target.id);
    if (at == entries_.end()) return absl::OkStatus();
    for (const auto& [name, held] : at->second.held) {
      steps.push_back({Find(target.level, name), "", held.name});
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(Take(target, steps));
  absl::MutexLock lock(&mutex_);
  if (const auto at = entries_.find(target.id); at != entries_.end()) {
    at->second.name = target.name;
    at->second.target = target;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Registry::Step>> Registry::PlanChange(const Target& target,
                                                                 const ClassNames& asked) {
  absl::MutexLock lock(&mutex_);
  const auto at = entries_.find(target.id);
  std::vector<Step> steps;
  std::vector<ClassInfo> wanted;
  for (const auto& [name, asked_class] : asked) {
    std::string from;
    if (at != entries_.end()) {
      if (const auto held = at->second.held.find(name); held != at->second.held.end()) {
        from = held->second.name;
      }
    }
    // Naming the held class is always valid, even if it no longer exists: clients name unchanged
    // classes along with changes.
    if (!from.empty() && from == asked_class) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(ClassType * type, Need(target.level, target.name, name));
    PLIMSOLL_ASSIGN_OR_RETURN(const ClassInfo info, NeedClass(*type, target.name, asked_class));
    if (from == info.name) continue;
    if (type->immutable()) {
      return Refuse(name, "immutable",
                    absl::FailedPreconditionError(absl::StrCat(
                        target.name, ": class type \"", name, "\" can't be changed while a ",
                        LevelName(target.level), " exists; it holds \"", from, "\"")));
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckCapacity(*type, info, target.name));
    steps.push_back({type, from, info.name});
  }
  for (const Step& step : steps) ++used_[{step.type, step.to}];
  return steps;
}

void Registry::GiveUp(const Target& target, const std::vector<Step>& steps, bool new_places) {
  absl::MutexLock lock(&mutex_);
  for (const Step& step : steps) {
    const std::string& place = new_places ? step.to : step.from;
    if (const auto used = used_.find({step.type, place}); used != used_.end() && used->second > 0) {
      --used->second;
    }
  }
  if (new_places) return;
  Entry& entry = entries_[target.id];
  entry.level = target.level;
  entry.name = target.name;
  entry.target = target;
  for (const Step& step : steps) entry.held[step.type->name()] = Named(step);
}

HeldClass Registry::Named(const Step& step) {
  return {.name = step.to, .files = step.type->OwnedFiles(step.to)};
}

absl::Status Registry::CheckChange(const Target& target, const ClassNames& asked) {
  absl::ReaderMutexLock no_reload(&reload_);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Step> steps, PlanChange(target, asked));
  GiveUp(target, steps, /*new_places=*/true);
  return absl::OkStatus();
}

absl::Status Registry::Change(const Target& target, const ClassNames& asked,
                              const std::function<absl::Status(const HeldClasses&)>& save) {
  absl::ReaderMutexLock no_reload(&reload_);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Step> steps, PlanChange(target, asked));
  HeldClasses before;
  {
    absl::MutexLock lock(&mutex_);
    if (const auto at = entries_.find(target.id); at != entries_.end()) before = at->second.held;
  }
  HeldClasses during = before;
  HeldClasses after = before;
  for (const auto& [name, unused] : asked) {  // named now, even if the class stays the same
    if (const auto held = after.find(name); held != after.end()) held->second.implicit = false;
  }
  for (const Step& step : steps) {
    during[step.type->name()].changing_to = step.to;
    after[step.type->name()] = Named(step);
  }
  absl::Status status;
  if (during != before) status = save(during);
  if (status.ok()) status = Take(target, steps);
  if (status.ok() && after != before) {
    status = save(after);
    if (!status.ok()) status = Undo(target, steps, steps.size(), std::move(status));
  }
  if (!status.ok()) {
    GiveUp(target, steps, /*new_places=*/true);
    if (after != before) save(before).IgnoreError();  // the change's error is the one told
    return status;
  }
  GiveUp(target, steps, /*new_places=*/false);
  absl::MutexLock lock(&mutex_);
  if (const auto at = entries_.find(target.id); at != entries_.end()) at->second.held = after;
  changed_.Ring();
  return absl::OkStatus();
}

absl::Status Registry::Release(const Target& target) {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<std::pair<ClassType*, std::string>> held;
  {
    absl::MutexLock lock(&mutex_);
    const auto at = entries_.find(target.id);
    if (at == entries_.end()) return absl::OkStatus();
    for (const auto& [name, one] : at->second.held) {
      if (ClassType* type = Find(at->second.level, name); type != nullptr) {
        held.emplace_back(type, one.name);
      }
    }
  }
  absl::Status status;
  for (const auto& [type, name] : held) {
    status = FirstError(status, type->Release(target, name));
  }
  Cancel(target.id);
  return status;
}

}  // namespace plimsoll::qos
