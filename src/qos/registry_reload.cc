#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/registry.h"

namespace plimsoll::qos {

Holders Registry::HoldersOf(const ClassType& type) const {
  Holders holders;
  for (const auto& [id, entry] : entries_) {
    const auto held = entry.held.find(type.name());
    // A holder that is only reserved is enforced after this, by the new definition.
    if (entry.level != type.level() || held == entry.held.end() || entry.target.id.empty() ||
        held->second.name.empty()) {
      continue;
    }
    holders.push_back({entry.target, held->second.name});
  }
  return holders;
}

absl::Status Registry::CheckHolders(const ClassType& type,
                                    const std::vector<std::string>& names) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, entry] : entries_) {
    const auto held = entry.held.find(type.name());
    if (entry.level != type.level() || held == entry.held.end()) continue;
    if (held->second.name.empty()) continue;
    if (std::find(names.begin(), names.end(), held->second.name) != names.end()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "class \"", held->second.name, "\" of type \"", type.name(), "\" is held by ", entry.name,
        " and is not in the new file; nothing was reloaded. Keep it there, or "
        "move its holder to another class first"));
  }
  return absl::OkStatus();
}

std::vector<Target> Registry::Targets() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Target> targets;
  for (const auto& [id, entry] : entries_) {
    if (!entry.target.id.empty()) targets.push_back(entry.target);
  }
  return targets;
}

absl::Status Registry::Refresh() {
  absl::MutexLock one_at_a_time(&reloading_);
  absl::MutexLock no_update(&definitions_);
  absl::MutexLock alone(&reload_);
  absl::Status status;
  for (const auto& type : types_) {
    Holders holders;
    {
      absl::MutexLock lock(&mutex_);
      holders = HoldersOf(*type);
    }
    const absl::Status refreshed = type->Refresh(holders);
    status = FirstError(status, Annotate(refreshed, absl::StrCat("class type ", type->name())));
  }
  changed_.Ring();
  return status;
}

absl::StatusOr<std::vector<std::string>> Registry::Reload() {
  absl::MutexLock one_at_a_time(&reloading_);
  struct Prepared {
    const ClassType* type;
    std::unique_ptr<PendingReload> reload;
    Holders holders;
  };
  std::vector<Prepared> prepared;
  std::vector<std::string> changes;
  for (const auto& type : types_) {  // reading may be slow: nobody waits for it
    auto reload = type->PrepareReload();
    if (!reload.ok()) return AlsoSay(reload.status(), "nothing was reloaded");
    if (*reload != nullptr) prepared.push_back({type.get(), *std::move(reload), {}});
  }
  if (warn_ != nullptr) {
    std::vector<TypeReport> reports;
    for (const Prepared& one : prepared) {
      reports.push_back({.name = one.type->name(),
                         .level = one.type->level(),
                         .warnings = one.reload->warnings()});
    }
    warn_(reports);
  }
  absl::MutexLock no_update(&definitions_);
  absl::MutexLock alone(&reload_);
  for (Prepared& one : prepared) {
    PLIMSOLL_RETURN_IF_ERROR(CheckHolders(*one.type, one.reload->class_names()));
    for (const std::string& change : one.reload->changes()) {
      changes.push_back(absl::StrCat(one.type->name(), ": ", change));
    }
    absl::MutexLock lock(&mutex_);
    one.holders = HoldersOf(*one.type);
  }
  for (size_t i = 0; i < prepared.size(); ++i) {
    absl::Status status = prepared[i].reload->Commit(prepared[i].holders);
    if (status.ok()) continue;
    for (size_t k = i; k-- > 0;) {
      const absl::Status reverted = prepared[k].reload->Revert(prepared[k].holders);
      if (!reverted.ok()) {
        status = AlsoSay(
            status, absl::StrCat("and another type could not be put back: ", reverted.message()));
      }
    }
    return status;
  }
  for (const Prepared& one : prepared) {
    for (const std::string& line : one.reload->put_right()) {
      changes.push_back(absl::StrCat(one.type->name(), ": ", line));
    }
  }
  SaveFiles();
  changed_.Ring();
  return changes;
}

void Registry::WarnWith(WarnFn warn) {
  warn_ = std::move(warn);
}

void Registry::SaveWith(std::function<absl::Status(const Target&, const HeldClasses&)> save) {
  save_ = std::move(save);
}

void Registry::SaveFiles() {
  std::vector<std::pair<Target, HeldClasses>> changed;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [id, entry] : entries_) {
      const HeldClasses before = entry.held;
      for (auto& [name, one] : entry.held) {
        if (const ClassType* type = Find(entry.level, name); type != nullptr && !one.name.empty()) {
          one.files = type->OwnedFiles(one.name);
        }
      }
      if (entry.held != before && !entry.target.id.empty()) {
        changed.emplace_back(entry.target, entry.held);
      }
    }
  }
  if (save_ == nullptr) return;
  // An unrecorded file isn't restored by the next start, but by a change of class.
  for (const auto& [target, held] : changed) save_(target, held).IgnoreError();
}

}  // namespace plimsoll::qos
