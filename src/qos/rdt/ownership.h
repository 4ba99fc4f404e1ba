// Which resctrl groups are ours.
#ifndef PLIMSOLL_QOS_RDT_OWNERSHIP_H_
#define PLIMSOLL_QOS_RDT_OWNERSHIP_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "linux/resctrl.h"
#include "qos/owned_objects.h"

namespace plimsoll::qos {

// Makes and removes groups together with their records. A record names the boot too: a group of
// that name that is there after another boot is somebody else's. Thread-safe.
//
// The record is written before the directory is made and struck out after it is removed, so that a
// kill in between never leaves a directory of ours that nobody would ever remove. What it leaves is
// a record without a directory, and somebody else may make one by that name before the next start.
// So a second record tells which directory it was, by its inode number: Load strikes out both when
// that isn't the one there now. A group without the second (the kill came while it was being made)
// is ours as long as no thread is in it: ours had none yet.
class RdtOwnership {
 public:
  // All outlive it.
  RdtOwnership(const linux::Resctrl* resctrl, OwnedObjects* owned, std::string boot_id)
      : resctrl_(*resctrl), owned_(*owned), boot_id_(std::move(boot_id)) {}

  // Reads the records and strikes out those whose group is gone or is another by now.
  absl::Status Load();
  // Groups by path (resctrl.h); the root group, "", when its schemata are ours.
  std::set<std::string> Groups() const;
  bool IsOurs(const std::string& group) const;

  // Records, then makes. On error there is neither. ALREADY_EXISTS for somebody else's, which is
  // never recorded.
  absl::Status Make(const std::string& group);
  // Removes, then strikes out, with the monitoring groups in it, which go with it. OK when it is
  // not there; FAILED_PRECONDITION when it isn't ours, or isn't any more: struck out then too. When
  // it can't be struck out it is gone all the same, and ours as far as another Remove or Make is
  // concerned.
  absl::Status Remove(const std::string& group);
  // For the root group, which nobody makes.
  absl::Status Claim(const std::string& group);
  absl::Status Disclaim(const std::string& group);

 private:
  using Inodes = std::map<std::string, uint64_t>;  // by group

  std::string RecordOf(const std::string& group) const;
  std::string InodeRecordOf(const std::string& group, uint64_t inode) const;
  // Strikes out those of groups that are gone or are others by now; the latter are in the result.
  absl::StatusOr<Inodes> LoadInodes();
  absl::StatusOr<bool> IsTheOneMade(const std::string& group, const Inodes& inodes) const;
  absl::Status CheckStillTheOneMade(const std::string& group) const;
  absl::Status RecordInode(const std::string& group);
  absl::Status ForgetInode(const std::string& group);

  const linux::Resctrl& resctrl_;
  OwnedObjects& owned_;
  const std::string boot_id_;
  mutable absl::Mutex mutex_;
  std::set<std::string> groups_ ABSL_GUARDED_BY(mutex_);
  // Of groups, as recorded; one that isn't in groups_ means nothing.
  Inodes inodes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_OWNERSHIP_H_
