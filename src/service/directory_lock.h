// One daemon per directory.
#ifndef PLIMSOLL_SERVICE_DIRECTORY_LOCK_H_
#define PLIMSOLL_SERVICE_DIRECTORY_LOCK_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Holds flock(2) on <directory>/lock, a file with the holder's pid. The kernel releases it with the
// process, however that ends; the file stays.
class DirectoryLock {
 public:
  // FAILED_PRECONDITION names the process that holds it. `what`: "state directory". Waits a while
  // for a lock whose holder is dead, or dying: a child between posix_spawn's clone and its exec has
  // a copy of every descriptor, so flock(2) may outlive a kill -9 by some milliseconds.
  static absl::StatusOr<DirectoryLock> Take(const FsRoot& directory, absl::string_view what);

  // OK if no process holds it. FAILED_PRECONDITION as Take's. Makes and writes nothing.
  static absl::Status CheckFree(const FsRoot& directory, absl::string_view what);

  DirectoryLock(DirectoryLock&&) = default;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  // Releases it also for a child that has not yet become another program. Such a child destroys no
  // copy of it: that would release the parent's.
  ~DirectoryLock();

 private:
  explicit DirectoryLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// Blocks until no client holds <directory>/clients.lock. Each `plimsoll` with a daemon of its own
// holds it shared, from before it starts the daemon until it ends, so the kernel also reports a
// client's death. Returns the lock, held exclusively: a client that comes meanwhile waits until
// this process is gone, then finds no daemon and starts one.
absl::StatusOr<UniqueFd> WaitUntilNoClientIsLeft(const FsRoot& directory);

inline constexpr char kClientsLockName[] = "clients.lock";

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_DIRECTORY_LOCK_H_
