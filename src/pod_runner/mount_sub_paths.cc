#include "pod_runner/mount_sub_paths.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pod_runner/sub_path.h"

namespace plimsoll::pod {

absl::Status MountSubPaths(const FsRoot& root, const ContainerManifest& container,
                           const std::vector<std::string>& sub_paths,
                           const std::map<std::string, std::string>& volumes,
                           ::runtime::v1::ContainerConfig& config) {
  for (size_t i = 0; i < container.mounts.size(); ++i) {
    if (sub_paths[i].empty()) continue;
    const std::string& volume = container.mounts[i].volume;
    const absl::StatusOr<std::string> path = MakeSubPath(root, volumes.at(volume), sub_paths[i]);
    if (!path.ok()) {
      return Annotate(path.status(), absl::StrCat("subPath ", sub_paths[i], " of volume ", volume));
    }
    config.mutable_mounts(static_cast<int>(i))->set_host_path(*path);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
