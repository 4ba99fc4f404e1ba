#include "linux/namespaces/user_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "lookup/mount_calls.h"

namespace plimsoll::linux {
namespace {

// The whole life of the sleeping process. It is a copy of one thread of a process that has many, so
// it may take neither locks nor memory: system calls only.
[[noreturn]] void Sleep(int socket, int flags) {
  syscall(SYS_close_range, 0u, static_cast<unsigned>(socket) - 1, 0u);
  syscall(SYS_close_range, static_cast<unsigned>(socket) + 1, ~0u, 0u);
  char go = 0;
  if (syscall(SYS_read, socket, &go, 1) == 1) {
    int error = 0;
    if (syscall(SYS_setresgid, 0, 0, 0) != 0 || syscall(SYS_setresuid, 0, 0, 0) != 0 ||
        syscall(SYS_unshare, flags) != 0) {
      error = errno;
    }
    syscall(SYS_write, socket, &error, sizeof(error));
    while (syscall(SYS_read, socket, &go, 1) < 0 && errno == EINTR) {
    }
  }
  syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

// The child sends no signal when it ends, so a wait for any child doesn't see it (__WCLONE).
pid_t CloneSleeper(int socket, int flags) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t pid =
      static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER, nullptr, nullptr, nullptr, 0));
  if (pid == 0) Sleep(socket, flags);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

absl::Status WriteMap(pid_t pid, const char* file, const std::vector<IdMapping>& mappings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot process, FsRoot::Open(absl::StrCat("/proc/", pid)));
  return process.Write(file, IdMapText(mappings));
}

}  // namespace

absl::StatusOr<NamespaceHolder> NamespaceHolder::Start(const std::vector<IdMapping>& uids,
                                                       const std::vector<IdMapping>& gids,
                                                       int flags) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("unshare", "user namespace"));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  close(ends[1]);
  if (!theirs.valid()) return ErrnoStatus(errno, "duplicate a socket");
  const pid_t pid = CloneSleeper(theirs.get(), flags);
  if (pid < 0 && errno == ENOSPC) {
    return absl::ResourceExhaustedError(
        "make a user namespace: the kernel's limit is reached (user.max_user_namespaces)");
  }
  if (pid < 0) return ErrnoStatus(errno, "make a user namespace");
  NamespaceHolder holder(pid, std::move(ours));
  PLIMSOLL_RETURN_IF_ERROR(WriteMap(pid, "uid_map", uids));
  PLIMSOLL_RETURN_IF_ERROR(WriteMap(pid, "gid_map", gids));
  const char go = 1;
  int error = 0;
  if (send(holder.go_.get(), &go, 1, MSG_NOSIGNAL) != 1) {
    return ErrnoStatus(errno, "set up a user namespace");
  }
  ssize_t n = -1;
  do {
    n = recv(holder.go_.get(), &error, sizeof(error), MSG_WAITALL);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof(error)) return absl::InternalError("set up a user namespace: its process died");
  if (error != 0) return ErrnoStatus(error, "make namespaces in a user namespace");
  return holder;
}

NamespaceHolder::NamespaceHolder(NamespaceHolder&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), go_(std::move(other.go_)) {}

NamespaceHolder::~NamespaceHolder() {
  if (pid_ == 0) return;
  // The pid can't be another's: only this thread waits for it.
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
}

absl::Status CheckIdMappedMounts(const FsRoot& directory) {
  const std::vector<IdMapping> some = {{.host_id = 100000, .container_id = 0, .length = 1}};
  PLIMSOLL_ASSIGN_OR_RETURN(const NamespaceHolder holder, NamespaceHolder::Start(some, some, 0));
  const UniqueFd space(
      open(absl::StrCat("/proc/", holder.pid(), "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!space.valid()) return ErrnoStatus(errno, "open a user namespace");
  const UniqueFd tree(
      OpenTree(directory.fd(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  const auto refuse = [&](const char* why) {
    return absl::FailedPreconditionError(
        absl::StrCat("no id-mapped mounts of ", directory.path(), ": ", why));
  };
  if (!tree.valid() && errno != ENOSYS) {
    return ErrnoStatus(errno, absl::StrCat("open a copy of the mount of ", directory.path()));
  }
  struct mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<uint64_t>(space.get());
  if (tree.valid() &&
      MountSetattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) == 0) {
    return absl::OkStatus();
  }
  if (errno == ENOSYS) return refuse("the kernel is older than Linux 5.12");
  if (errno == EINVAL) return refuse("its file system can't, on this kernel");
  return ErrnoStatus(errno, absl::StrCat("map ids of ", directory.path()));
}

bool HasMountSetattr() {
  // The kernel refuses a struct of size 0 wherever it has the call.
  return MountSetattr(-1, "", 0, nullptr, 0) == 0 || errno != ENOSYS;
}

}  // namespace plimsoll::linux
