// The directory of state that doesn't survive a reboot.
#ifndef PLIMSOLL_DAEMON_RUN_DIRECTORY_H_
#define PLIMSOLL_DAEMON_RUN_DIRECTORY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "service/directory_lock.h"

namespace plimsoll::daemon {

// A directory that one daemon uses: locked, and a private mount point, so that mounts in it (pinned
// namespaces, tmpfs) spread to no other mount namespace. The mount outlives this object, for the
// workloads, unless Undo or Remove is called.
class RunDirectory {
 public:
  // Makes, locks and mounts it. On failure only the directory is left.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Open(const FsRoot& host,
                                                            const std::string& path);

  // The directory within the mount.
  const FsRoot& root() const { return *root_; }

  // Removes the mount if Open made it: nothing was started in it.
  absl::Status Undo();
  // Removes the mount, and the directory with its content. Only if no sandbox is left and no client
  // waits for clients.lock in it.
  absl::Status Remove();

 private:
  RunDirectory(const FsRoot& host, const std::string& path, DirectoryLock lock)
      : host_(host), path_(path), lock_(std::move(lock)) {}

  const FsRoot host_;
  const std::string path_;
  const DirectoryLock lock_;
  bool mounted_here_ = false;
  std::optional<FsRoot> root_;
};

// The number of sandboxes in the run directory at `path` that were made in this boot. None if it is
// no mount point: a mount ends with the boot, as every process does.
absl::StatusOr<size_t> CountSandboxes(const FsRoot& host, const std::string& path);

// FAILED_PRECONDITION if nothing of a daemon is in the state directory though the run directory has
// `sandboxes` of this boot: the state is on a disk that isn't mounted, and a start without it would
// end these pods. A database that was moved away leaves the images there.
absl::Status CheckStateIsThere(const std::string& state_directory, size_t sandboxes);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_RUN_DIRECTORY_H_
