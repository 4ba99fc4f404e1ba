#include "linux/namespaces/mounts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "lookup/mount_calls.h"

namespace plimsoll::linux {
namespace {

// The path as mountinfo spells it: without symbolic links.
absl::StatusOr<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    return ErrnoStatus(errno, absl::StrCat("resolve ", path));
  }
  return std::string(resolved);
}

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" || absl::StartsWith(path, directory + "/");
}

// The number of mounts above each one: a mount on top of another at the same place is deeper too.
std::map<int, int> Depths(const std::vector<MountInfo>& mounts) {
  std::map<int, int> parents;
  for (const MountInfo& mount : mounts) parents[mount.id] = mount.parent_id;
  std::map<int, int> depths;
  for (const MountInfo& mount : mounts) {
    int depth = 0;
    // The bound stops at a root mount that is its own parent.
    for (auto at = parents.find(mount.id); at != parents.end() && depth <= int(mounts.size());
         at = parents.find(at->second)) {
      ++depth;
    }
    depths[mount.id] = depth;
  }
  return depths;
}

// A mount on `path` would hide those below it, with all that their owners have there.
absl::Status CheckNothingIsHidden(const FsRoot& root, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto mounts, ReadMounts(root));
  for (const MountInfo& mount : mounts) {
    if (!IsAtOrBelow(mount.mount_point, path)) continue;
    const absl::StatusOr<bool> is_seen = IsMountPoint(root, mount.mount_point);
    if (!is_seen.ok() || !*is_seen) continue;  // another one hides it already
    return absl::FailedPreconditionError(
        absl::StrCat(path, " would hide the mount at ", mount.mount_point,
                     ": stop what uses that one and unmount it, or choose another directory"));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasFileSystem(const std::string& type) {
  const UniqueFd context(FsOpen(type.c_str(), FSOPEN_CLOEXEC));
  return context.valid() || errno != ENODEV;
}

absl::StatusOr<UniqueFd> CopyMount(const UniqueFd& file, const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("mount", path));
  UniqueFd tree(
      OpenTree(file.get(), "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree.valid()) return ErrnoStatus(errno, absl::StrCat("copy the mount of ", path));
  return tree;
}

absl::Status BindMount(const std::string& source, const std::string& target) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("mount", target));
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return ErrnoStatus(errno, absl::StrCat("bind mount ", source, " on ", target));
  }
  return absl::OkStatus();
}

absl::Status MountTmpfs(const std::string& target, uint64_t size_bytes, absl::string_view label) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("mount", target));
  std::string options = absl::StrCat("mode=1777,size=", size_bytes);
  if (!label.empty()) absl::StrAppend(&options, ",context=\"", label, "\"");  // it has commas
  if (mount("tmpfs", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()) !=
      0) {
    return ErrnoStatus(errno, absl::StrCat("mount a tmpfs on ", target));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> IsMountPoint(const FsRoot& root, const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, RealPath(directory));
  const UniqueFd opened(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  PLIMSOLL_ASSIGN_OR_RETURN(const MountInfo mount, MountOf(root, opened));
  return mount.mount_point == path;
}

absl::Status MakePrivateMountPoint(const FsRoot& root, const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, RealPath(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_mount_point, IsMountPoint(root, path));
  if (!is_mount_point) {
    PLIMSOLL_RETURN_IF_ERROR(CheckNothingIsHidden(root, path));
    PLIMSOLL_RETURN_IF_ERROR(BindMount(path, path));
  }
  if (mount(nullptr, path.c_str(), nullptr, MS_PRIVATE, nullptr) != 0) {
    const absl::Status status = ErrnoStatus(errno, absl::StrCat("make mount private: ", path));
    if (!is_mount_point) Unmount(path).IgnoreError();
    return status;
  }
  return absl::OkStatus();
}

absl::Status Unmount(const std::string& target, bool lazy) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("unmount", target));
  const int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);
  if (umount2(target.c_str(), flags) == 0) return absl::OkStatus();
  // EINVAL: not a mount point.
  if (errno == EINVAL || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("unmount ", target));
}

absl::Status UnmountBelow(const FsRoot& root, const std::string& directory) {
  absl::StatusOr<std::string> path = RealPath(directory);
  if (absl::IsNotFound(path.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(path.status());
  PLIMSOLL_ASSIGN_OR_RETURN(auto mounts, ReadMounts(root));
  const std::map<int, int> depths = Depths(mounts);
  std::stable_sort(mounts.begin(), mounts.end(), [&](const MountInfo& a, const MountInfo& b) {
    return depths.at(a.id) > depths.at(b.id);
  });
  absl::Status status;
  for (const MountInfo& mount : mounts) {
    if (!IsAtOrBelow(mount.mount_point, *path)) continue;
    status = FirstError(status, Unmount(mount.mount_point));
  }
  return status;
}

}  // namespace plimsoll::linux
