#include "daemon/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::daemon {
namespace {

constexpr char kLockName[] = "lock";

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const FsRoot& directory, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, directory.OpenFile(kLockName, O_RDWR | O_CREAT, 0600));
  const std::string path = directory.PathOf(kLockName);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
    const std::string holder = directory.Read(kLockName, 32).value_or("");
    const absl::string_view pid = absl::StripAsciiWhitespace(holder);
    return absl::FailedPreconditionError(absl::StrCat(
        "another plimsolld", pid.empty() ? "" : absl::StrCat(" (pid ", pid, ")"), " uses the ",
        what, " ", directory.path(), "; stop it, or give this one a directory of its own"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus(errno, "write " + path);
  }
  return DirectoryLock(std::move(fd));
}

absl::StatusOr<UniqueFd> WaitUntilNoClientIsLeft(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd,
                            directory.OpenFile(kClientsLockName, O_RDWR | O_CREAT, 0600));
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return ErrnoStatus(errno, "lock " + directory.PathOf(kClientsLockName));
    }
  }
  return fd;
}

}  // namespace plimsoll::daemon
