#include "linux/namespaces/namespaces.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/namespaced_sysctls.h"
#include "linux/namespaces/sysctl_name.h"
#include "linux/namespaces/user_namespace.h"

namespace plimsoll::linux {
namespace {

constexpr size_t kMaxHostname = 64;  // __NEW_UTS_LEN
constexpr const char* kNames[] = {"net", "ipc", "uts", "user"};
constexpr char kPid[] = "pid";

bool IsMade(const NamespaceRequest& request, SysctlNamespace which) {
  switch (which) {
    case SysctlNamespace::kNetwork:
      return request.network;
    case SysctlNamespace::kIpc:
      return request.ipc;
    case SysctlNamespace::kUts:
      return request.uts;
  }
  return false;
}

// All checks that need no action.
absl::StatusOr<std::vector<SysctlSetting>> Validate(const NamespaceRequest& request) {
  if (request.hostname.size() > kMaxHostname) {
    return absl::InvalidArgumentError(absl::StrCat("hostname \"", request.hostname,
                                                   "\" is longer than ", kMaxHostname, " bytes"));
  }
  if (!request.hostname.empty() && !request.uts) {
    return absl::InvalidArgumentError(
        absl::StrCat("hostname \"", request.hostname,
                     "\" would become the host's: the UTS namespace is shared"));
  }
  if (!request.uids.empty() || !request.gids.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckIdMappings("uids", request.uids));
    PLIMSOLL_RETURN_IF_ERROR(CheckIdMappings("gids", request.gids));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<SysctlSetting> settings, ParseSysctls(request.sysctls));
  for (const SysctlSetting& setting : settings) {
    if (IsMade(request, setting.sysctl.belongs_to)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sysctl ", setting.name, " would become the host's: its namespace is shared"));
  }
  return settings;
}

absl::Status BringLoopbackUp() {
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!handle.valid()) return ErrnoStatus(errno, "open socket for the loopback interface");
  struct ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  if (ioctl(handle.get(), SIOCGIFFLAGS, &request) != 0) {
    return ErrnoStatus(errno, "read flags of interface lo");
  }
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (ioctl(handle.get(), SIOCSIFFLAGS, &request) != 0) {
    return ErrnoStatus(errno, "bring interface lo up");
  }
  return absl::OkStatus();
}

// Binds a namespace of `process`, a directory's name in /proc, onto a new file. It reaches
// `directory` by descriptor, since its name may lead elsewhere by now.
absl::Status Pin(const FsRoot& directory, const char* name, absl::string_view process) {
  PLIMSOLL_RETURN_IF_ERROR(directory.OpenFile(name, O_RDONLY | O_CREAT | O_EXCL, 0444).status());
  const std::string source = absl::StrCat("/proc/", process, "/ns/", name);
  const std::string target = absl::StrCat("/proc/thread-self/fd/", directory.fd(), "/", name);
  const absl::Status status = BindMount(source, target);
  if (status.ok()) return status;
  directory.RemoveFile(name).IgnoreError();
  return Annotate(status, absl::StrCat("pin namespace at ", directory.PathOf(name)));
}

absl::Status Unpin(const FsRoot& directory, const char* name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, directory.Has(name));
  if (!is_there) return absl::OkStatus();
  const std::string path = absl::StrCat("/proc/thread-self/fd/", directory.fd(), "/", name);
  // Lazy: somebody may be looking into it right now, and the namespace lives on with its users
  // anyway.
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(Unmount(path, /*lazy=*/true), absl::StrCat("unpin ", directory.PathOf(name))));
  return directory.RemoveFile(name);
}

// Moves this thread into new namespaces as requested.
absl::Status Enter(const FsRoot& directory, const NamespaceRequest& request,
                   std::optional<NamespaceHolder>* holder) {
  const int flags = (request.network ? CLONE_NEWNET : 0) | (request.ipc ? CLONE_NEWIPC : 0) |
                    (request.uts ? CLONE_NEWUTS : 0);
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("unshare", directory.path()));
  if (request.uids.empty()) {
    return unshare(flags) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "unshare namespaces");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(NamespaceHolder made,
                            NamespaceHolder::Start(request.uids, request.gids, flags));
  holder->emplace(std::move(made));
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, (*holder)->pid(), 0)));
  if (!process.valid()) return ErrnoStatus(errno, "open the process of a user namespace");
  if (flags != 0 && setns(process.get(), flags) != 0) {
    return ErrnoStatus(errno, "enter the namespaces of a user namespace");
  }
  return absl::OkStatus();
}

// Runs in a thread of its own, which can't leave its namespaces again.
absl::Status MakeAndPin(const FsRoot& directory, const NamespaceRequest& request,
                        const std::vector<SysctlSetting>& settings) {
  std::optional<NamespaceHolder> holder;
  PLIMSOLL_RETURN_IF_ERROR(Enter(directory, request, &holder));
  if (!request.hostname.empty() &&
      sethostname(request.hostname.data(), request.hostname.size()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set hostname ", request.hostname));
  }
  if (request.network) PLIMSOLL_RETURN_IF_ERROR(BringLoopbackUp());
  const uint32_t root = holder.has_value() ? HostIdOf(request.uids, 0) : 0;
  PLIMSOLL_RETURN_IF_ERROR(WriteSysctls(settings, root));

  std::vector<const char*> pinned;
  absl::Cleanup undo = [&] {
    for (const char* name : pinned) Unpin(directory, name).IgnoreError();
  };
  const std::string process = holder.has_value() ? absl::StrCat(holder->pid()) : "thread-self";
  const bool wanted[] = {request.network, request.ipc, request.uts, holder.has_value()};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (!wanted[i]) continue;
    PLIMSOLL_RETURN_IF_ERROR(Pin(directory, kNames[i], process));
    pinned.push_back(kNames[i]);
  }
  std::move(undo).Cancel();
  return absl::OkStatus();
}

}  // namespace

absl::Status PinNamespaces(const FsRoot& directory, const NamespaceRequest& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<SysctlSetting> settings, Validate(request));
  if (!request.network && !request.ipc && !request.uts && request.uids.empty()) {
    return absl::OkStatus();
  }
  absl::Status status;
  try {
    std::thread([&] { status = MakeAndPin(directory, request, settings); }).join();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("start the thread that makes namespaces: ", error.what()));
  }
  return status;
}

absl::StatusOr<bool> IsPinned(const FsRoot& directory, const char* name) {
  const absl::StatusOr<UniqueFd> file = directory.OpenFile(name, O_PATH);
  if (absl::IsNotFound(file.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(file.status());
  struct statfs info = {};
  if (fstatfs(file->get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statfs ", directory.PathOf(name)));
  }
  return info.f_type == NSFS_MAGIC;
}

absl::Status PinPidNamespace(const FsRoot& directory, pid_t pid) {
  return Pin(directory, kPid, absl::StrCat(pid));
}

absl::Status UnpinNamespaces(const FsRoot& directory) {
  absl::Status status = Unpin(directory, kPid);
  for (const char* name : kNames) status = FirstError(status, Unpin(directory, name));
  return status;
}

}  // namespace plimsoll::linux
