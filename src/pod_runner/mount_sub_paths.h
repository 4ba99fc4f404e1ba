// The subPaths of a container's mounts, at its start.
#ifndef PLIMSOLL_POD_RUNNER_MOUNT_SUB_PATHS_H_
#define PLIMSOLL_POD_RUNNER_MOUNT_SUB_PATHS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest.h"

namespace plimsoll::pod {

// Sets the host's paths of mounts with a subPath, whose missing directories are made (MakeSubPath).
// Call it directly before the container is created: an init container may have made the
// directories. `sub_paths` and
// `config` are ToCri's for the container, `volumes` the host's path of each volume.
absl::Status MountSubPaths(const FsRoot& root, const ContainerManifest& container,
                           const std::vector<std::string>& sub_paths,
                           const std::map<std::string, std::string>& volumes,
                           ::runtime::v1::ContainerConfig& config);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MOUNT_SUB_PATHS_H_
