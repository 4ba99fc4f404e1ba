// Which resctrl groups are ours.
#ifndef PLIMSOLL_QOS_RDT_OWNERSHIP_H_
#define PLIMSOLL_QOS_RDT_OWNERSHIP_H_

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
// The record is written before the directory is made and struck out after it is removed. A daemon
// that is killed in between leaves a record without a directory, which Load strikes out; never a
// directory of ours that nobody would ever remove. (What somebody else makes by that very name
// before the next Load is taken for ours.)
class RdtOwnership {
 public:
  // All outlive it.
  RdtOwnership(const linux::Resctrl* resctrl, OwnedObjects* owned, std::string boot_id)
      : resctrl_(*resctrl), owned_(*owned), boot_id_(std::move(boot_id)) {}

  // Reads the records and strikes out those whose group is gone.
  absl::Status Load();
  // Groups by path (resctrl.h); the root group, "", when its schemata are ours.
  std::set<std::string> Groups() const;
  bool IsOurs(const std::string& group) const;

  // Records, then makes. On error there is neither. ALREADY_EXISTS for somebody else's, which is
  // never recorded.
  absl::Status Make(const std::string& group);
  // Removes, then strikes out, with the monitoring groups in it, which go with it. OK when it is
  // not there; FAILED_PRECONDITION when it isn't ours. When it can't be struck out it is gone all
  // the same, and ours as far as another Remove or Make is concerned.
  absl::Status Remove(const std::string& group);
  // For the root group, which nobody makes.
  absl::Status Claim(const std::string& group);
  absl::Status Disclaim(const std::string& group);

 private:
  std::string RecordOf(const std::string& group) const;

  const linux::Resctrl& resctrl_;
  OwnedObjects& owned_;
  const std::string boot_id_;
  mutable absl::Mutex mutex_;
  std::set<std::string> groups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_OWNERSHIP_H_
