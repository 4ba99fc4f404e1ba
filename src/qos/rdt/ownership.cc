#include "qos/rdt/ownership.h"

#include <sys/types.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr char kResctrlKind[] = "resctrl";
constexpr char kInodeKind[] = "resctrl-inode";

// Parses "12/gold".
bool ParseInodeRecord(absl::string_view record, std::string& group, uint64_t& inode) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(record, absl::MaxSplits('/', 1));
  group = std::string(parts.second);
  return absl::SimpleAtoi(parts.first, &inode);
}

}  // namespace

// "<boot id>/gold/mon_groups/c1"; "<boot id>/" for the root group.
std::string RdtOwnership::RecordOf(const std::string& group) const {
  return absl::StrCat(boot_id_, "/", group);
}

std::string RdtOwnership::InodeRecordOf(const std::string& group, uint64_t inode) const {
  return absl::StrCat(boot_id_, "/", inode, "/", group);
}

absl::StatusOr<RdtOwnership::Inodes> RdtOwnership::LoadInodes() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> records, owned_.ListOwned(kInodeKind));
  const std::string this_boot = RecordOf("");
  Inodes inodes;
  for (const std::string& record : records) {
    absl::string_view rest = record;
    std::string group;
    uint64_t inode = 0;
    if (absl::ConsumePrefix(&rest, this_boot) && ParseInodeRecord(rest, group, inode) &&
        resctrl_.HasGroup(group)) {
      PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t now, resctrl_.InodeOf(group));
      inodes[group] = inode;
      if (now == inode) continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kInodeKind, record));
  }
  return inodes;
}

absl::StatusOr<bool> RdtOwnership::IsTheOneMade(const std::string& group,
                                                const Inodes& inodes) const {
  if (!resctrl_.HasGroup(group)) return false;
  if (group.empty()) return true;
  const auto inode = inodes.find(group);
  if (inode != inodes.end()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t now, resctrl_.InodeOf(group));
    return now == inode->second;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, resctrl_.Threads(group));
  return threads.empty();
}

absl::Status RdtOwnership::Load() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> records, owned_.ListOwned(kResctrlKind));
  PLIMSOLL_ASSIGN_OR_RETURN(Inodes inodes, LoadInodes());
  std::set<std::string> groups;
  const std::string this_boot = RecordOf("");
  for (const std::string& record : records) {
    absl::string_view group = record;
    bool ours = false;
    if (absl::ConsumePrefix(&group, this_boot)) {
      PLIMSOLL_ASSIGN_OR_RETURN(ours, IsTheOneMade(std::string(group), inodes));
    }
    if (ours) {
      groups.emplace(group);
    } else {
      PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kResctrlKind, record));
    }
  }
  absl::MutexLock lock(&mutex_);
  groups_ = std::move(groups);
  inodes_ = std::move(inodes);
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
                     IsOurs(group) ? "" : ", and Plimsoll did not make it"));
  }
  const bool was_ours = IsOurs(group);
  PLIMSOLL_RETURN_IF_ERROR(Claim(group));
  absl::Status made = resctrl_.MakeGroup(group);
  // A group of ours that HasGroup missed stays ours.
  if (was_ours && absl::IsAlreadyExists(made)) return made;
  if (made.ok()) {
    made = RecordInode(group);
    if (made.ok()) return made;
    const absl::Status removed = resctrl_.RemoveGroup(group);
    if (!removed.ok()) {
      return AlsoSay(made, absl::StrCat("and the group stays: ", removed.message()));
    }
  }
  const absl::Status struck_out = Disclaim(group);
  return struck_out.ok()
             ? made
             : AlsoSay(made, absl::StrCat("and its record stays: ", struck_out.message()));
}

absl::Status RdtOwnership::RecordInode(const std::string& group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t inode, resctrl_.InodeOf(group));
  PLIMSOLL_RETURN_IF_ERROR(ForgetInode(group));  // the record of a group that somebody removed
  PLIMSOLL_RETURN_IF_ERROR(owned_.AddOwned(kInodeKind, InodeRecordOf(group, inode)));
  absl::MutexLock lock(&mutex_);
  inodes_[group] = inode;
  return absl::OkStatus();
}

absl::Status RdtOwnership::ForgetInode(const std::string& group) {
  std::optional<uint64_t> inode;
  {
    absl::MutexLock lock(&mutex_);
    const auto known = inodes_.find(group);
    if (known != inodes_.end()) inode = known->second;
  }
  if (!inode) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kInodeKind, InodeRecordOf(group, *inode)));
  absl::MutexLock lock(&mutex_);
  inodes_.erase(group);
  return absl::OkStatus();
}

absl::Status RdtOwnership::CheckStillTheOneMade(const std::string& group) const {
  if (!resctrl_.HasGroup(group)) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t now, resctrl_.InodeOf(group));
  absl::MutexLock lock(&mutex_);
  const auto known = inodes_.find(group);
  if (known == inodes_.end() || known->second == now) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "resctrl group /", group, " is not Plimsoll's to remove: another program removed ",
      "Plimsoll's group and made this one under its name"));
}

absl::Status RdtOwnership::Remove(const std::string& group) {
  if (!IsOurs(group)) {
    return absl::FailedPreconditionError(
        absl::StrCat("resctrl group /", group, " is not Plimsoll's to remove"));
  }
  absl::Status status = CheckStillTheOneMade(group);
  if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
  if (status.ok()) PLIMSOLL_RETURN_IF_ERROR(resctrl_.RemoveGroup(group));
  const std::string below = absl::StrCat(group, "/mon_groups/");
  for (const std::string& other : Groups()) {
    if (absl::StartsWith(other, below)) status = FirstError(status, Disclaim(other));
  }
  return FirstError(status, Disclaim(group));
}

absl::Status RdtOwnership::Claim(const std::string& group) {
  PLIMSOLL_RETURN_IF_ERROR(owned_.AddOwned(kResctrlKind, RecordOf(group)));
  absl::MutexLock lock(&mutex_);
  groups_.insert(group);
  return absl::OkStatus();
}

absl::Status RdtOwnership::Disclaim(const std::string& group) {
  PLIMSOLL_RETURN_IF_ERROR(owned_.RemoveOwned(kResctrlKind, RecordOf(group)));
  {
    absl::MutexLock lock(&mutex_);
    groups_.erase(group);
  }
  return ForgetInode(group);
}

}  // namespace plimsoll::qos
