#include "pod_runner/pod_files/mount_sub_paths.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"
#include "pod_runner/pod_files/sub_path.h"

namespace plimsoll::pod {
namespace {

std::string SubPathsOf(const std::string& pod_directory) {
  return absl::StrCat(pod_directory, "/volume-subpaths");
}

absl::Status ChangePropagation(const std::string& path, unsigned long type) {
  if (mount(nullptr, path.c_str(), nullptr, MS_REC | type, nullptr) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("change the propagation of ", path));
}

// The bind spreads mounts as the volume's own mount would, so that the runtime accepts and refuses
// the same mountPropagation as for a mount of the whole volume. A bind into a shared mount becomes
// shared itself, even if the volume's mount is not.
absl::Status SetPropagation(const FsRoot& root, const UniqueFd& object, const VolumeMount& mount,
                            const std::string& target) {
  if (mount.propagation == "Bidirectional") {
    PLIMSOLL_ASSIGN_OR_RETURN(const linux::MountInfo volume, linux::MountOf(root, object));
    if (volume.shared) return absl::OkStatus();
  }
  const bool receives =
      mount.propagation == "Bidirectional" || mount.propagation == "HostToContainer";
  return ChangePropagation(target, receives ? MS_SLAVE : MS_PRIVATE);
}

// True when the object contains `directory`, the place of the binds: with the mounts below it, its
// bind would contain all others, and the next one would contain those twice.
absl::StatusOr<bool> Contains(const UniqueFd& object, const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd opened, directory.OpenFile(".", O_PATH));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string place, linux::PathOfDescriptor(opened));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, linux::PathOfDescriptor(object));
  return path == "/" || absl::StartsWith(place, path + "/");
}

// Binds the opened object, by the magic link of its descriptor, and never what its path leads to.
absl::Status Bind(const FsRoot& root, const UniqueFd& object, const VolumeMount& mount,
                  const FsRoot& directory, const std::string& name) {
  struct stat info = {};
  if (fstat(object.get(), &info) != 0) return ErrnoStatus(errno, "stat");
  if (S_ISDIR(info.st_mode)) {
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(name, 0700));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(directory.OpenFile(name, O_WRONLY | O_CREAT | O_EXCL, 0600).status());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const bool alone, Contains(object, directory));
  const std::string source = absl::StrCat("/proc/self/fd/", object.get());
  const std::string target = directory.PathOf(name);
  const unsigned long flags = MS_BIND | (alone ? 0 : MS_REC);
  if (::mount(source.c_str(), target.c_str(), nullptr, flags, nullptr) != 0) {
    return ErrnoStatus(errno, absl::StrCat("bind it on ", target));
  }
  return SetPropagation(root, object, mount, target);
}

// Unmounts all mounts that lie at `path`, one on the other, in use or not. A bind that is shared
// with the volume is cut off first, lest mounts below it end in the volume as well.
absl::Status Detach(const std::string& path) {
  for (;;) {
    const absl::Status alone = ChangePropagation(path, MS_PRIVATE);
    if (ErrnoOf(alone) == EINVAL) return absl::OkStatus();  // no mount is there
    PLIMSOLL_RETURN_IF_ERROR(alone);
    if (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, absl::StrCat("unmount ", path));
    }
  }
}

}  // namespace

bool HasSubPaths(const ContainerManifest& container) {
  return std::any_of(container.mounts.begin(), container.mounts.end(), [](const auto& mount) {
    return !mount.sub_path.empty() || !mount.sub_path_expr.empty();
  });
}

absl::Status MountSubPaths(const FsRoot& root, const std::string& pod_directory,
                           const ContainerManifest& container,
                           const std::vector<std::string>& sub_paths,
                           const std::map<std::string, std::string>& volumes,
                           ::runtime::v1::ContainerConfig& config) {
  const auto is_empty = [](const std::string& path) { return path.empty(); };
  if (std::all_of(sub_paths.begin(), sub_paths.end(), is_empty)) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(UnmountSubPaths(root, pod_directory, container.name));
  const std::string path = absl::StrCat(SubPathsOf(pod_directory), "/", container.name);
  absl::Cleanup undo = [&] { UnmountSubPaths(root, pod_directory, container.name).IgnoreError(); };
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(path, 0700));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(path));
  for (size_t i = 0; i < container.mounts.size(); ++i) {
    if (sub_paths[i].empty()) continue;
    const VolumeMount& mount = container.mounts[i];
    const std::string what = absl::StrCat("subPath ", sub_paths[i], " of volume ", mount.volume);
    const absl::StatusOr<UniqueFd> object =
        MakeSubPath(root, volumes.at(mount.volume), sub_paths[i]);
    if (!object.ok()) return Annotate(object.status(), what);
    const std::string name = absl::StrCat(i);
    PLIMSOLL_RETURN_IF_ERROR(Annotate(Bind(root, *object, mount, directory, name), what));
    config.mutable_mounts(static_cast<int>(i))->set_host_path(directory.PathOf(name));
  }
  std::move(undo).Cancel();
  return absl::OkStatus();
}

absl::Status UnmountSubPaths(const FsRoot& root, const std::string& pod_directory,
                             const std::string& container) {
  const std::string path = absl::StrCat(SubPathsOf(pod_directory), "/", container);
  const absl::StatusOr<std::vector<std::string>> names = root.List(path);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    PLIMSOLL_RETURN_IF_ERROR(Detach(absl::StrCat(path, "/", name)));
  }
  return root.RemoveTree(path);  // refuses a mount
}

absl::StatusOr<bool> HasMountedSubPaths(const FsRoot& root, const std::string& pod_directory) {
  const absl::StatusOr<std::vector<std::string>> names = root.List(SubPathsOf(pod_directory));
  if (absl::IsNotFound(names.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  return !names->empty();
}

absl::Status UnmountSubPathsOfPod(const FsRoot& root, const std::string& pod_directory,
                                  const std::set<std::string>& living) {
  const absl::StatusOr<std::vector<std::string>> names = root.List(SubPathsOf(pod_directory));
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  absl::Status status;
  for (const std::string& name : *names) {
    if (living.contains(name)) continue;
    status = FirstError(status, UnmountSubPaths(root, pod_directory, name));
  }
  return status;
}

}  // namespace plimsoll::pod
