// The records of our resctrl groups.
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

// Makes and removes groups together with their records. A record names the boot too: a group of the
// same name after another boot is somebody else's. Thread-safe.
//
// The record is written before the directory is made and removed after it, so that a kill in
// between never leaves an unrecorded directory of ours. It may leave a record without a directory,
// and somebody else may make that directory before the next start. So a second record has the
// directory's inode number: Load removes both records when the number differs from the present
// directory's. A group without the second record (the kill came while it was being made) is ours as
// long as no thread is in it: ours had none yet.
class RdtOwnership {
 public:
  // All pointers must outlive it.
  RdtOwnership(const linux::Resctrl* resctrl, OwnedObjects* owned, std::string boot_id)
      : resctrl_(*resctrl), owned_(*owned), boot_id_(std::move(boot_id)) {}

  // Reads the records and removes those whose group is gone or has been replaced.
  absl::Status Load();
  // Groups by path (resctrl.h); the root group, "", when its schemata are ours.
  std::set<std::string> Groups() const;
  bool IsOurs(const std::string& group) const;

  // Records the group, then makes it. On error there is neither. ALREADY_EXISTS for somebody
  // else's, which is never recorded.
  absl::Status Make(const std::string& group);
  // Removes the group, then its record, with those of the monitoring groups in it, which go with
  // it. OK when there is no such group. FAILED_PRECONDITION when it isn't ours, or isn't any more;
  // in the latter case the record is removed. When the record's removal fails the group is gone all
  // the same, and another Remove or Make may follow.
  absl::Status Remove(const std::string& group);
  // For the root group, which always exists.
  absl::Status Claim(const std::string& group);
  absl::Status Disclaim(const std::string& group);

 private:
  using Inodes = std::map<std::string, uint64_t>;  // by group

  std::string RecordOf(const std::string& group) const;
  std::string InodeRecordOf(const std::string& group, uint64_t inode) const;
  // Removes the records of groups that are gone or have been replaced; the latter are in the
  // result.
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
  // Inodes as recorded; that of a group not in groups_ means nothing.
  Inodes inodes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_OWNERSHIP_H_
