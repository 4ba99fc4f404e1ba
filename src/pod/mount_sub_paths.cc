#include "pod/mount_sub_paths.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pod/sub_path.h"

namespace plimsoll::pod {

absl::Status MountSubPaths(const FsRoot& root, const ContainerManifest& container,
                           const std::map<std::string, std::string>& volumes,
                           ::runtime::v1::ContainerConfig& config) {
  for (size_t i = 0; i < container.mounts.size(); ++i) {
    const VolumeMount& mount = container.mounts[i];
    if (mount.sub_path.empty()) continue;
    const absl::StatusOr<std::string> path =
        MakeSubPath(root, volumes.at(mount.volume), mount.sub_path);
    if (!path.ok()) {
      return Annotate(path.status(),
                      absl::StrCat("subPath ", mount.sub_path, " of volume ", mount.volume));
    }
    config.mutable_mounts(static_cast<int>(i))->set_host_path(*path);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
