// Locks between processes that make pods on one machine. The lock of a name is held from the look
// whether the name is free until the daemon has the pod: the daemon distinguishes pods by uid too,
// and would take two of one name. The lock of user ids is held while a range is chosen.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_POD_LOCK_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_POD_LOCK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::pod {

// An flock(2) on <state directory>/pods/name-<hash>.lock or user-ids.lock. The kernel drops it with
// its process. The destructor removes the file.
class PodLock {
 public:
  // Waits for another holder: at most `patience` (DEADLINE_EXCEEDED), or until `give_up` returns
  // true (CANCELLED). `root` is "/".
  static absl::StatusOr<PodLock> TakeName(const FsRoot& root, const std::string& state_directory,
                                          absl::string_view pod_namespace, absl::string_view name,
                                          absl::Duration patience,
                                          const std::function<bool()>& give_up);
  // Locks like TakeName, for the choice of user ids. Held until the daemon has the pod, and with it
  // the ids.
  static absl::StatusOr<PodLock> TakeUserIds(const FsRoot& root, const std::string& state_directory,
                                             absl::Duration patience,
                                             const std::function<bool()>& give_up);
  // Removes the file of a lock whose holder was killed. `file` is its name in the directory of
  // pods. Does nothing for other files, and for a lock that is held.
  static void RemoveAbandoned(const FsRoot& root, const std::string& state_directory,
                              absl::string_view file);
  ~PodLock();
  PodLock(PodLock&&) = default;
  PodLock& operator=(PodLock&&) = delete;

 private:
  static absl::StatusOr<PodLock> TakeFile(const FsRoot& root, const std::string& state_directory,
                                          absl::string_view file, absl::string_view another,
                                          absl::Duration patience,
                                          const std::function<bool()>& give_up);
  PodLock(FsRoot root, std::string path, UniqueFd fd)
      : root_(std::move(root)), path_(std::move(path)), fd_(std::move(fd)) {}

  FsRoot root_;
  std::string path_;
  UniqueFd fd_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_POD_LOCK_H_
