// The directory for what does not survive a reboot.
#ifndef PLIMSOLL_DAEMON_RUN_DIRECTORY_H_
#define PLIMSOLL_DAEMON_RUN_DIRECTORY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "daemon/directory_lock.h"

namespace plimsoll::daemon {

// A directory that one daemon uses, locked, and a private mount point: what is mounted in it
// (pinned namespaces, tmpfs) spreads to no other mount namespace. The mount stays when this goes,
// for the workloads, unless Undo or Remove was called.
class RunDirectory {
 public:
  // Makes, locks and mounts it. On failure nothing is left but the directory.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Open(const FsRoot& host,
                                                            const std::string& path);

  // The directory within the mount.
  const FsRoot& root() const { return *root_; }

  // Takes the mount away again if Open has made it: nothing was started in it.
  absl::Status Undo();
  // Takes the mount away and removes the directory with all its content. Only when no sandbox is
  // left and no client waits for clients.lock in it.
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

// How many sandboxes the run directory at `path` has that were made in this boot: none where it is
// no mount point, for a mount ends with the boot, and no process of another boot runs.
absl::StatusOr<size_t> CountSandboxes(const FsRoot& host, const std::string& path);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_RUN_DIRECTORY_H_
