#include "copy/container_root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::copy {
namespace {

absl::Status Gone(const absl::Status& status, pid_t pid) {
  const int error = ErrnoOf(status);
  if (error != ENOENT && error != ESRCH && !absl::IsNotFound(status)) return status;
  return absl::NotFoundError(absl::StrCat("the container's process ", pid, " is gone"));
}

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Opens the target of a magic link of proc(5), which FsRoot doesn't follow.
absl::StatusOr<UniqueFd> OpenLink(const FsRoot& process, const char* link, int flags,
                                  struct stat* info) {
  UniqueFd fd(openat(process.fd(), link, flags | O_CLOEXEC));
  if (!fd.valid() || fstat(fd.get(), info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("open ", process.PathOf(link)));
  }
  return fd;
}

// True when a link leads to the same place as this process's own.
absl::StatusOr<bool> IsOwn(const char* link, const struct stat& its) {
  struct stat own = {};
  const std::string path = absl::StrCat("/proc/self/", link);
  if (stat(path.c_str(), &own) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  return IsSame(own, its);
}

absl::StatusOr<ContainerRoot> Open(const FsRoot& host, const FsRoot& process,
                                   const linux::ProcessId& init) {
  ContainerRoot found;
  struct stat root = {};
  struct stat space = {};
  PLIMSOLL_ASSIGN_OR_RETURN(found.root, OpenLink(process, "root", O_PATH | O_DIRECTORY, &root));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd user, OpenLink(process, "ns/user", O_RDONLY, &space));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd pidfd, linux::OpenProcess(host, init));
  if (linux::HasExited(pidfd)) return ErrnoStatus(ESRCH, "process");
  PLIMSOLL_ASSIGN_OR_RETURN(const bool own_root, IsOwn("root", root));
  if (own_root) {
    return absl::FailedPreconditionError(
        "the container's files are not on this machine: its first process has the machine's own "
        "root directory");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const bool own_space, IsOwn("ns/user", space));
  if (!own_space) found.user_namespace = std::move(user);
  return found;
}

}  // namespace

absl::StatusOr<ContainerRoot> OpenContainerRoot(const FsRoot& host, const linux::ProcessId& init) {
  const auto process = host.Sub(absl::StrCat("proc/", init.pid));
  if (!process.ok()) return Gone(process.status(), init.pid);
  auto found = Open(host, *process, init);
  if (!found.ok()) return Gone(found.status(), init.pid);
  return found;
}

}  // namespace plimsoll::copy
