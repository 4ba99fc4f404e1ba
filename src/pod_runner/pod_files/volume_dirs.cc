#include "pod_runner/pod_files/volume_dirs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"
#include "pod_runner/pod_files/files_volume.h"
#include "resources/pod_total.h"

namespace plimsoll::pod {
namespace {

// Objects are at most a megabyte each.
constexpr uint64_t kFilesBytes = 64 << 20;

std::optional<gid_t> GroupOf(const Manifest& pod) {
  if (!pod.security.fs_group) return std::nullopt;
  return static_cast<gid_t>(*pod.security.fs_group);
}

// Gives the directory its mode, and to the group if there is one; new files get that group too.
absl::Status SetOwner(const FsRoot& root, const std::string& path, mode_t mode,
                      std::optional<gid_t> group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, root.OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (group && fchown(fd.get(), static_cast<uid_t>(-1), *group) != 0) {
    return ErrnoStatus(errno, absl::StrCat("chown ", path));
  }
  // mkdir obeys the umask, and chown may take the setgid bit away.
  if (fchmod(fd.get(), group ? mode | S_ISGID : mode) != 0) {
    return ErrnoStatus(errno, absl::StrCat("chmod ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> IsMounted(const FsRoot& root, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, root.OpenFile(path, O_PATH | O_DIRECTORY));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string real, linux::PathOfDescriptor(fd));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<linux::MountInfo> mounts, linux::ReadMounts(root));
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const linux::MountInfo& mount) { return mount.mount_point == real; });
}

// `secret`: never swapped out, where the kernel can promise that (Linux 6.4).
absl::Status MountMemory(const FsRoot& root, const std::string& path, uint64_t bytes, bool secret) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool mounted, IsMounted(root, path));
  if (mounted) return absl::OkStatus();
  const std::string options =
      absl::StrCat("mode=0777", bytes > 0 ? absl::StrCat(",size=", bytes) : "");
  const unsigned long flags = secret ? MS_NOSUID | MS_NODEV | MS_NOEXEC : 0;
  if (secret) {
    const std::string unswapped = options + ",noswap";
    if (mount("tmpfs", path.c_str(), "tmpfs", flags, unswapped.c_str()) == 0) {
      return absl::OkStatus();
    }
    if (errno != EINVAL) return ErrnoStatus(errno, absl::StrCat("mount a tmpfs at ", path));
  }
  if (mount("tmpfs", path.c_str(), "tmpfs", flags, options.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("mount a tmpfs at ", path));
}

void Lower(uint64_t& bytes, int64_t limit) {
  if (limit <= 0) return;
  const auto most = static_cast<uint64_t>(limit);
  bytes = bytes == 0 ? most : std::min(bytes, most);
}

}  // namespace

uint64_t MemoryVolumeBytes(const Manifest& pod, const Volume& volume, const PodContext& context) {
  uint64_t bytes = 0;
  Lower(bytes, context.memory_capacity_bytes);
  std::vector<resources::ContainerRequirements> all;
  bool each = true;
  for (const ContainerManifest& container : pod.containers) {
    all.push_back({container.role, container.resources});
    each &= container.resources.limits.contains("memory");
  }
  const resources::Requirements own = pod.resources.value_or(resources::Requirements());
  const auto limits = resources::PodTotal(all, own, {}).limits;
  const auto memory = limits.find("memory");
  if (memory != limits.end() && (each || own.limits.contains("memory"))) {
    Lower(bytes, memory->second.Value());
  }
  if (volume.dir.size_limit) Lower(bytes, volume.dir.size_limit->Value());
  return bytes;
}

absl::Status MakeVolumeDir(const FsRoot& root, const std::string& path, const Manifest& pod,
                           const Volume& volume, const PodContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(path, 0700));
  const bool secret = volume.files && HoldsSecret(*volume.files);
  if (secret || volume.dir.in_memory) {
    PLIMSOLL_RETURN_IF_ERROR(MountMemory(
        root, path, secret ? kFilesBytes : MemoryVolumeBytes(pod, volume, context), secret));
  }
  // Any user in the containers may write to an emptyDir, as in Kubernetes.
  if (!volume.files) return SetOwner(root, path, 0777, GroupOf(pod));
  PLIMSOLL_RETURN_IF_ERROR(SetOwner(root, path, 0755, GroupOf(pod)));
  return RefreshVolumeDir(root, path, pod, volume, context);
}

absl::Status RefreshVolumeDir(const FsRoot& root, const std::string& path, const Manifest& pod,
                              const Volume& volume, const PodContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const VolumeFiles files, ContentsOf(pod, volume, context));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(path));
  return Annotate(WriteFiles(directory, files, GroupOf(pod)), absl::StrCat("volume ", volume.name));
}

absl::Status UnmountVolumes(const FsRoot& root, const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool there, root.Has(directory));
  if (!there) return absl::OkStatus();
  return linux::UnmountBelow(root, directory);
}

}  // namespace plimsoll::pod
