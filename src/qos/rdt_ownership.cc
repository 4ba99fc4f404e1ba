#include "qos/rdt_ownership.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr char kKind[] = "resctrl";

}  // namespace

// "<boot id>/gold/mon_groups/c1"; "<boot id>/" for the root group.
std::string RdtOwnership::RecordOf(const std::string& group) const {
  return absl::StrCat(boot_id_, "/", group);
}

absl::Status RdtOwnership::Load() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> records, owned_.ListOwned(kKind));
  std::set<std::string> groups;
  const std::string this_boot = RecordOf("");
  for (const std::string& record : records) {
    absl::string_view group = record;
    if (absl::ConsumePrefix(&group, this_boot) && resctrl_.HasGroup(std::string(group))) {
      groups.emplace(group);
    } else {
      PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kKind, record));
    }
  }
  absl::MutexLock lock(&mutex_);
  groups_ = std::move(groups);
  return absl::OkStatus();
}

std::set<std::string> RdtOwnership::Groups() const {
  absl::MutexLock lock(&mutex_);
  return groups_;
}

bool RdtOwnership::IsOurs(const std::string& group) const {
  absl::MutexLock lock(&mutex_);
  return groups_.count(group) > 0;
}

absl::Status RdtOwnership::Make(const std::string& group) {
  if (resctrl_.HasGroup(group)) {
    return absl::AlreadyExistsError(
        absl::StrCat("resctrl group /", group, " is there already",
                     IsOurs(group) ? "" : ", and somebody else has made it"));
  }
  const bool was_ours = IsOurs(group);
  PLIMSOLL_RETURN_IF_ERROR(Claim(group));
  const absl::Status made = resctrl_.MakeGroup(group);
  // One of ours that could not be seen just now stays ours.
  if (made.ok() || (was_ours && absl::IsAlreadyExists(made))) return made;
  const absl::Status struck_out = Disclaim(group);
  return struck_out.ok()
             ? made
             : Annotate(made, absl::StrCat("(and its record stays: ", struck_out.message(), ")"));
}

absl::Status RdtOwnership::Remove(const std::string& group) {
  if (!IsOurs(group)) {
    return absl::FailedPreconditionError(
        absl::StrCat("resctrl group /", group, " is not Plimsoll's to remove"));
  }
  PLIMSOLL_RETURN_IF_ERROR(resctrl_.RemoveGroup(group));
  absl::Status status;
  const std::string below = absl::StrCat(group, "/mon_groups/");
  for (const std::string& other : Groups()) {
    if (absl::StartsWith(other, below)) status = FirstError(status, Disclaim(other));
  }
  return FirstError(status, Disclaim(group));
}

absl::Status RdtOwnership::Claim(const std::string& group) {
  PLIMSOLL_RETURN_IF_ERROR(owned_.AddOwned(kKind, RecordOf(group)));
  absl::MutexLock lock(&mutex_);
  groups_.insert(group);
  return absl::OkStatus();
}

absl::Status RdtOwnership::Disclaim(const std::string& group) {
  PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kKind, RecordOf(group)));
  absl::MutexLock lock(&mutex_);
  groups_.erase(group);
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
