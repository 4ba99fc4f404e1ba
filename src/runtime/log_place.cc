#include "runtime/log_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::runtime {
namespace {

// `path`: of `root`, for messages.
absl::Status RefuseLinks(const FsRoot& root, const std::string& path, absl::string_view name) {
  for (size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const absl::string_view part = name.substr(0, end);
    if (root.ReadLink(part).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the log goes to ", path, "/", name, ", where ", path, "/", part,
                       " is a symlink; symlinks below the pod's log directory are not followed"));
    }
    if (end == absl::string_view::npos) return absl::OkStatus();
  }
}

// A file where a directory is to be, and names that no file system takes, are the client's fault.
absl::Status OfLog(const absl::Status& status, const std::string& path) {
  switch (ErrnoOf(status)) {
    case EEXIST:
    case ENOTDIR:
      return absl::FailedPreconditionError(
          absl::StrCat("the log goes to ", path,
                       ", but that is not a directory, or a part of its path is not one"));
    case ELOOP:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(
          absl::StrCat("the log's path is not possible: ", status.message()));
    default:
      return status;
  }
}

// Writing to a file of these is an order to the kernel.
bool IsOfTheKernel(const UniqueFd& directory) {
  struct statfs info = {};
  if (fstatfs(directory.get(), &info) != 0) return false;
  for (const uint64_t magic : {PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
                               CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC}) {
    if (static_cast<uint64_t>(info.f_type) == magic) return true;
  }
  return false;
}

// Makes the pod's log directory where it is missing, and opens it.
absl::StatusOr<UniqueFd> MakeDirectory(const FsRoot& host, absl::string_view directory) {
  while (absl::ConsumeSuffix(&directory, "/")) {
  }
  const std::string path = host.PathOf(directory);
  PLIMSOLL_RETURN_IF_ERROR(OfLog(host.MakeDirs(directory, 0755), path));
  absl::StatusOr<UniqueFd> held = host.OpenFile(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  // Linux says ENOTDIR of a directory whose last name is a symlink.
  if (ErrnoOf(held.status()) == ENOTDIR && host.ReadLink(directory).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the pod's log directory ", path,
                     " is a symlink; only above it, as at /var/log/pods, symlinks are followed"));
  }
  if (!held.ok()) return OfLog(held.status(), path);
  if (!IsOfTheKernel(*held)) return held;
  return absl::FailedPreconditionError(absl::StrCat(
      "the log directory ", path, " is on one of the kernel's own file systems, as /proc is"));
}

}  // namespace

absl::StatusOr<LogPlace> PrepareLog(const FsRoot& host, absl::string_view directory,
                                    absl::string_view path) {
  if (path.empty()) return LogPlace();
  if (directory.empty()) directory = path.substr(0, path.rfind('/'));
  const absl::string_view name = absl::StripPrefix(path.substr(directory.size()), "/");
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd held, MakeDirectory(host, directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string real, linux::PathOfDescriptor(held));
  LogPlace place = {.directory = real, .path = absl::StrCat(real, "/", name)};
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root,
                            FsRoot::Open(absl::StrCat("/proc/self/fd/", held.get())));
  PLIMSOLL_RETURN_IF_ERROR(RefuseLinks(root, real, name));
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) {
    const absl::string_view below = name.substr(0, slash);
    PLIMSOLL_RETURN_IF_ERROR(OfLog(root.MakeDirs(below, 0755), absl::StrCat(real, "/", below)));
  }
  const absl::StatusOr<struct stat> log = root.Stat(name);
  if (absl::IsNotFound(log.status())) return place;
  PLIMSOLL_RETURN_IF_ERROR(OfLog(log.status(), place.path));
  if (S_ISREG(log->st_mode)) return place;
  return absl::FailedPreconditionError(
      absl::StrCat("the log ", place.path, " is ", KindOfFile(log->st_mode),
                   "; it must be a regular file, or not be there yet"));
}

}  // namespace plimsoll::runtime
