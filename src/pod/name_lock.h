// Who is about to make a pod of some name, so that no second `plimsoll run` does so too between
// looking whether it is there and making it. (The daemon knows pods by their uid as well, as the
// CRI has it, and each run makes a new one.) Likewise who chooses the ids of a user namespace.
#ifndef PLIMSOLL_POD_NAME_LOCK_H_
#define PLIMSOLL_POD_NAME_LOCK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::pod {

// An flock(2) on <state directory>/pods/name-<hash>.lock or user-ids.lock, which goes with its
// holder, however that ends. Let go of, and the file removed, when destroyed.
class NameLock {
 public:
  // Waits for another holder: at most `patience` (DEADLINE_EXCEEDED), or until `give_up` says so
  // (CANCELLED). `root` is "/".
  static absl::StatusOr<NameLock> Take(const FsRoot& root, const std::string& state_directory,
                                       absl::string_view pod_namespace, absl::string_view name,
                                       absl::Duration patience,
                                       const std::function<bool()>& give_up);
  // As Take, for whoever chooses ids for a pod: held until the daemon has the pod and says them.
  static absl::StatusOr<NameLock> TakeForUserIds(const FsRoot& root,
                                                 const std::string& state_directory,
                                                 absl::Duration patience,
                                                 const std::function<bool()>& give_up);
  ~NameLock();
  NameLock(NameLock&&) = default;
  NameLock& operator=(NameLock&&) = delete;

 private:
  static absl::StatusOr<NameLock> TakeFile(const FsRoot& root, const std::string& state_directory,
                                           absl::string_view file, absl::string_view another,
                                           absl::Duration patience,
                                           const std::function<bool()>& give_up);
  NameLock(FsRoot root, std::string path, UniqueFd fd)
      : root_(std::move(root)), path_(std::move(path)), fd_(std::move(fd)) {}

  FsRoot root_;
  std::string path_;
  UniqueFd fd_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_NAME_LOCK_H_
