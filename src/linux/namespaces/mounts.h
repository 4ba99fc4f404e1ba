// Mounting and unmounting. Not "mount.h": <sys/mount.h> of glibc includes "linux/mount.h", the
// kernel's, and would find ours.
#ifndef PLIMSOLL_LINUX_NAMESPACES_MOUNTS_H_
#define PLIMSOLL_LINUX_NAMESPACES_MOUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// One line of /proc/<pid>/mountinfo (proc(5)); paths unescaped.
struct MountInfo {
  int id = 0;
  int parent_id = 0;
  std::string root;
  std::string mount_point;
  std::string fs_type;
  std::string source;
  std::vector<std::string> options;        // per mount
  std::vector<std::string> super_options;  // per file system
  bool shared = false;  // mounts below spread to others of its group, and come from them
  bool slave = false;   // they come from another group
};
absl::StatusOr<std::vector<MountInfo>> ParseMountInfo(absl::string_view text);
// The mounts of this process. `root` is the directory that holds proc/.
absl::StatusOr<std::vector<MountInfo>> ReadMounts(const FsRoot& root);

// The mount that `file` is on. FAILED_PRECONDITION if this process's namespace doesn't contain it.
absl::StatusOr<MountInfo> MountOf(const FsRoot& root, const UniqueFd& file);
// The path of an open file, without symbolic links, as this process sees it.
absl::StatusOr<std::string> PathOfDescriptor(const UniqueFd& file);

// True when the kernel has this type of file system; asking loads its module. When several first
// mounts come at a time, the kernel fails some with ENODEV while the module loads, so ask once
// beforehand for a type that everybody needs. True also where the answer isn't known.
bool HasFileSystem(const std::string& type);

// Copies the mount of an open file, with the mounts below it, detached. The copy's root is that
// very file, even if its name has changed since. Only the returned descriptor (O_PATH) reaches it,
// until move_mount(2) attaches it, in any namespace. A shared mount's copy is in the same peer
// group. `path` is for messages.
absl::StatusOr<UniqueFd> CopyMount(const UniqueFd& file, const std::string& path);
// Binds one directory or file, without mounts below it.
absl::Status BindMount(const std::string& source, const std::string& target);
// Mounts a tmpfs of at most `size_bytes`, nosuid, nodev, noexec, mode 1777. `label`: the SELinux
// label of everything in it; empty: the policy's.
absl::Status MountTmpfs(const std::string& target, uint64_t size_bytes,
                        absl::string_view label = "");
// Whether the directory, as its path is seen now, is the root of a mount.
absl::StatusOr<bool> IsMountPoint(const FsRoot& root, const std::string& directory);
// Binds the directory onto itself and makes it private, so that mounts below it neither spread to
// other namespaces nor come from them. OK when it is a private mount already. FAILED_PRECONDITION
// if there are mounts below that the new one would hide.
absl::Status MakePrivateMountPoint(const FsRoot& root, const std::string& directory);
// OK when nothing is mounted there. `lazy`: MNT_DETACH.
absl::Status Unmount(const std::string& target, bool lazy = false);
// Unmounts everything at or below `directory`, innermost first. Goes on after an error and returns
// the first; a mount in use (an open FsRoot is use enough) is FAILED_PRECONDITION.
absl::Status UnmountBelow(const FsRoot& root, const std::string& directory);

// An overlay of `lower` (top first) that is attached nowhere: only the descriptor reaches it, and
// closing that ends it. For looking into an image. One directory in `lower` gives a read-only view
// of it. The descriptor is an O_PATH one; FsRoot::Open("/proc/self/fd/<n>") makes a root of it.
absl::StatusOr<UniqueFd> OpenDetachedOverlay(const std::vector<std::string>& lower);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_MOUNTS_H_
