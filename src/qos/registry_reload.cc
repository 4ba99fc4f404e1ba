#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/registry.h"

namespace plimsoll::qos {

Holders Registry::HoldersOf(const ClassType& type) const {
  Holders holders;
  for (const auto& [id, holder] : holders_) {
    const auto held = holder.held.find(type.name());
    // What is only reserved is enforced after this, by the new definition.
    if (holder.level != type.level() || held == holder.held.end() || holder.target.id.empty()) {
      continue;
    }
    holders.emplace_back(holder.target, held->second.name);
  }
  return holders;
}

absl::StatusOr<std::vector<std::string>> Registry::Reload() {
  absl::MutexLock alone(&reload_);
  struct Prepared {
    std::unique_ptr<PendingReload> reload;
    Holders holders;
  };
  std::vector<Prepared> prepared;
  std::vector<std::string> changes;
  for (const auto& type : types_) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto reload, type->PrepareReload());
    if (reload == nullptr) continue;
    const std::vector<std::string> names = reload->class_names();
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, holder] : holders_) {
      const auto held = holder.held.find(type->name());
      if (holder.level != type->level() || held == holder.held.end()) continue;
      if (std::find(names.begin(), names.end(), held->second.name) != names.end()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "class \"", held->second.name, "\" of type \"", type->name(), "\" is held by ",
          holder.who, " and is not in the new file; nothing was reloaded"));
    }
    for (const std::string& change : reload->changes()) {
      changes.push_back(absl::StrCat(type->name(), ": ", change));
    }
    prepared.push_back({std::move(reload), HoldersOf(*type)});
  }
  for (size_t i = 0; i < prepared.size(); ++i) {
    absl::Status status = prepared[i].reload->Commit(prepared[i].holders);
    if (status.ok()) continue;
    for (size_t k = i; k-- > 0;) {
      const absl::Status reverted = prepared[k].reload->Revert(prepared[k].holders);
      if (!reverted.ok()) {
        status = Annotate(status, absl::StrCat("and another type could not be put back (",
                                               reverted.message(), ")"));
      }
    }
    return status;
  }
  return changes;
}

}  // namespace plimsoll::qos
