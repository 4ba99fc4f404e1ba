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

// Two types that write one file would undo each other.
absl::Status CheckFiles(const std::vector<std::unique_ptr<ClassType>>& types) {
  std::map<std::pair<Level, std::string>, std::string> owner;
  for (const auto& type : types) {
    std::vector<std::string> files;
    for (const ClassInfo& info : type->classes()) {
      const std::vector<std::string> some = type->OwnedFiles(info.name);
      files.insert(files.end(), some.begin(), some.end());
    }
    for (const std::string& file : files) {
      const auto [at, is_new] = owner.insert({{type->level(), file}, type->name()});
      if (is_new || at->second == type->name()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("class types \"", at->second, "\" and \"", type->name(), "\" both set ",
                       file, " of a ", LevelName(type->level()), "; a file belongs to one type"));
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

absl::StatusOr<ClassType*> Registry::Need(Level level, const std::string& who,
                                          const std::string& name) {
  if (ClassType* type = Find(level, name); type != nullptr) return type;
  std::vector<std::string> names;
  for (const auto& type : types_) {
    if (type->level() == level) names.push_back(type->name());
  }
  std::string message = absl::StrCat(who, ": no class type \"", name, "\" for a ", LevelName(level),
                                     "; there are: ", Quoted(names));
  if (const UnavailableType* one = FindUnavailable(level, name); one != nullptr) {
    absl::StrAppend(&message, " (", name, " is configured, but: ", one->reason, ")");
  }
  // Counted under one name: a client can think of any number of types.
  return Refuse("", "unknown_type", absl::NotFoundError(message));
}

absl::StatusOr<ClassInfo> Registry::NeedClass(const ClassType& type, const std::string& who,
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
                absl::NotFoundError(
                    absl::StrCat(who, ": ", what, "; there are: ", Quoted(NamesOf(classes)))));
}

absl::Status Registry::CheckCapacity(const ClassType& type, const ClassInfo& info,
                                     const std::string& who) {
  const auto used = used_.find({&type, info.name});
  if (info.capacity == 0 || used == used_.end() || used->second < info.capacity) {
    return absl::OkStatus();
  }
  return Refuse(type.name(), "capacity",
                absl::ResourceExhaustedError(
                    absl::StrCat(who, ": class \"", info.name, "\" of type \"", type.name(),
                                 "\" is full: its ", info.capacity, " places are taken")));
}

absl::StatusOr<HeldClasses> Registry::Reserve(Level level, const std::string& id,
                                              const std::string& who, const ClassNames& asked) {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, unused] : asked) {
    PLIMSOLL_RETURN_IF_ERROR(Need(level, who, name).status());
  }
  Holder holder{level, who, {}, {}};
  for (const auto& type : types_) {
    if (type->level() != level) continue;
    const auto named = asked.find(type->name());
    if (named == asked.end() && type->default_class().empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(
        const ClassInfo info,
        NeedClass(*type, who, named == asked.end() ? std::string() : named->second));
    PLIMSOLL_RETURN_IF_ERROR(CheckCapacity(*type, info, who));
    holder.held[type->name()] = {info.name, named == asked.end(), ""};
  }
  for (const auto& [type, held] : holder.held) ++used_[{Find(level, type), held.name}];
  HeldClasses held = holder.held;
  holders_[id] = std::move(holder);
  return held;
}

void Registry::Cancel(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  const auto at = holders_.find(id);
  if (at == holders_.end()) return;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(at->second.level, name);
    if (const auto used = used_.find({type, held.name}); used != used_.end() && used->second > 0) {
      --used->second;
    }
  }
  holders_.erase(at);
}

absl::Status Registry::Adopt(const Target& target, HeldClasses* held) {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::Status status;
  for (auto one = held->begin(); one != held->end();) {
    ClassType* type = Find(target.level, one->first);
    std::string& changing_to = one->second.changing_to;
    const std::string& name = one->second.name;
    absl::Status back;
    if (type != nullptr && !changing_to.empty()) {
      back = name.empty() ? type->Release(target, changing_to)
                          : type->Assign(target, changing_to, name);
    }
    if (back.ok()) changing_to.clear();
    status = FirstError(status, back);
    if (type != nullptr && !name.empty()) status = FirstError(status, type->Adopt(target, name));
    one = name.empty() && back.ok() ? held->erase(one) : std::next(one);
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, one] : *held) ++used_[{Find(target.level, name), one.name}];
  holders_[target.id] = {target.level, target.name, *held, target};
  return status;
}

absl::Status Registry::Undo(const Target& target, const std::vector<Step>& steps, size_t done,
                            absl::Status status) {
  while (done-- > 0) {
    const Step& step = steps[done];
    const absl::Status undone = step.from.empty() ? step.type->Release(target, step.to)
                                                  : step.type->Assign(target, step.to, step.from);
    if (!undone.ok()) {
      status = Annotate(status, absl::StrCat("and what was done before could not be undone (",
                                             undone.message(), ")"));
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
    const auto at = holders_.find(target.id);
    if (at == holders_.end()) return absl::OkStatus();
    for (const auto& [name, held] : at->second.held) {
      steps.push_back({Find(target.level, name), "", held.name});
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(Take(target, steps));
  absl::MutexLock lock(&mutex_);
  if (const auto at = holders_.find(target.id); at != holders_.end()) at->second.target = target;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Registry::Step>> Registry::PlanChange(const Target& target,
                                                                 const ClassNames& asked) {
  absl::MutexLock lock(&mutex_);
  const auto at = holders_.find(target.id);
  std::vector<Step> steps;
  std::vector<ClassInfo> wanted;
  for (const auto& [name, asked_class] : asked) {
    PLIMSOLL_ASSIGN_OR_RETURN(ClassType * type, Need(target.level, target.name, name));
    PLIMSOLL_ASSIGN_OR_RETURN(const ClassInfo info, NeedClass(*type, target.name, asked_class));
    std::string from;
    if (at != holders_.end()) {
      if (const auto held = at->second.held.find(name); held != at->second.held.end()) {
        from = held->second.name;
      }
    }
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
  Holder& holder = holders_[target.id];
  holder.level = target.level;
  holder.who = target.name;
  holder.target = target;
  for (const Step& step : steps) holder.held[step.type->name()] = {step.to, false, ""};
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
    if (const auto at = holders_.find(target.id); at != holders_.end()) before = at->second.held;
  }
  HeldClasses during = before;
  HeldClasses after = before;
  for (const auto& [name, unused] : asked) {  // named now, also where the class stays the same
    if (const auto held = after.find(name); held != after.end()) held->second.implicit = false;
  }
  for (const Step& step : steps) {
    during[step.type->name()].changing_to = step.to;
    after[step.type->name()] = {step.to, false, ""};
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
    if (after != before) save(before).IgnoreError();  // its own error is the one told
    return status;
  }
  GiveUp(target, steps, /*new_places=*/false);
  absl::MutexLock lock(&mutex_);
  if (const auto at = holders_.find(target.id); at != holders_.end()) at->second.held = after;
  return absl::OkStatus();
}

absl::Status Registry::Release(const Target& target) {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<std::pair<ClassType*, std::string>> held;
  {
    absl::MutexLock lock(&mutex_);
    const auto at = holders_.find(target.id);
    if (at == holders_.end()) return absl::OkStatus();
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

std::map<std::string, EffectiveClass> Registry::Effective(const Target& target, bool look) const {
  absl::ReaderMutexLock no_reload(&reload_);
  HeldClasses held;
  {
    absl::MutexLock lock(&mutex_);
    const auto at = holders_.find(target.id);
    if (at == holders_.end()) return {};
    held = at->second.held;
  }
  std::map<std::string, EffectiveClass> effective;
  for (const auto& [name, one] : held) {
    if (one.name.empty()) continue;  // a first class that could not be taken back: it has none
    EffectiveClass shown{one.name, one.implicit, ""};
    const ClassType* type = Find(target.level, name);
    if (type == nullptr) {
      const UnavailableType* one_of = FindUnavailable(target.level, name);
      shown.drift = one_of == nullptr
                        ? "this class type is not configured any more"
                        : absl::StrCat("this class type can't be had: ", one_of->reason);
    } else if (look) {
      const absl::StatusOr<std::string> drift = type->Drift(target, one.name);
      shown.drift = drift.ok() ? *drift : std::string(drift.status().message());
    }
    effective[name] = std::move(shown);
  }
  return effective;
}

std::vector<std::string> Registry::OwnedFiles(const std::string& id) const {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> files;
  const auto at = holders_.find(id);
  if (at == holders_.end()) return files;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(at->second.level, name);
    if (type == nullptr) continue;
    const std::vector<std::string> some = type->OwnedFiles(held.name);
    files.insert(files.end(), some.begin(), some.end());
  }
  return files;
}

std::vector<std::string> Registry::EntryFiles(const Target& target) const {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> files;
  const auto at = holders_.find(target.id);
  if (at == holders_.end()) return files;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(target.level, name);
    if (type == nullptr) continue;
    if (std::string file = type->EntryFile(target, held.name); !file.empty()) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<TypeReport> Registry::Describe(bool look) const {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<Holder> holders;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, holder] : holders_) holders.push_back(holder);
  }
  std::vector<TypeReport> reports;
  for (const auto& type : types_) {
    TypeReport report{
        type->name(), type->level(), type->immutable(), type->default_class(), {}, {}};
    if (look) report.warnings = type->warnings();
    for (ClassInfo& info : type->classes()) {
      ClassUse use{std::move(info), {}};
      for (const Holder& holder : holders) {
        const auto held = holder.held.find(type->name());
        if (holder.level == type->level() && held != holder.held.end() &&
            held->second.name == use.info.name) {
          use.holders.push_back(holder.who);
        }
      }
      std::sort(use.holders.begin(), use.holders.end());
      report.classes.push_back(std::move(use));
    }
    reports.push_back(std::move(report));
  }
  if (!look) return reports;
  for (const UnavailableType& one : unavailable_) {
    reports.push_back({.name = one.name, .level = one.level, .warnings = {one.reason}});
  }
  return reports;
}

absl::Status Registry::CheckSource(Level level, const std::string& type,
                                   const std::string& class_name, ClassSource source) const {
  absl::ReaderMutexLock no_reload(&reload_);
  const ClassType* found = Find(level, type);
  if (found == nullptr) return absl::OkStatus();
  const std::string name = class_name.empty() ? found->default_class() : class_name;
  const absl::Status status = found->CheckSource(name, source);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;  // Reserve says so, with the others
}

std::map<std::pair<std::string, std::string>, uint64_t> Registry::Refusals() const {
  absl::MutexLock lock(&mutex_);
  return refusals_;
}

std::vector<Registry::Measurement> Registry::Measure() const {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<std::pair<std::string, Holder>> holders;
  {
    absl::MutexLock lock(&mutex_);
    holders.assign(holders_.begin(), holders_.end());
  }
  std::vector<Measurement> all;
  const auto add = [&](const ClassType& type, const std::string& id, const std::string& name) {
    for (const auto& [metric, value] : type.Measure(id, name)) {
      all.push_back({type.name(), id, name, metric, value});
    }
  };
  for (const auto& type : types_) {
    for (const ClassInfo& info : type->classes()) add(*type, "", info.name);
    for (const auto& [id, holder] : holders) {
      const auto held = holder.held.find(type->name());
      if (holder.level == type->level() && held != holder.held.end()) {
        add(*type, id, held->second.name);
      }
    }
  }
  return all;
}

}  // namespace plimsoll::qos
