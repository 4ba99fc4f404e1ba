// The subPaths of a container's mounts: bound where no container reaches, so that the runtime
// mounts the file or directory that was opened, whatever its path in the volume leads to by then
// (CVE-2017-1002101, CVE-2021-25741).
//
//   <pod directory>/volume-subpaths/<container>/<index of the mount>
//
// The binds are this process's mounts; a restart of it leaves them, and a restart of the machine
// leaves the empty directories. The next start of the container, its end or the pod's removal
// unmounts them.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_MOUNT_SUB_PATHS_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_MOUNT_SUB_PATHS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// True when a mount of the container has a subPath.
bool HasSubPaths(const ContainerManifest& container);

// Binds the container's subPaths, whose missing directories are made (MakeSubPath), in place of
// those of an earlier run, and sets the host's paths of their mounts. Call it directly before the
// container is created: an init container may have made the directories. `sub_paths` and `config`
// are ToCri's for the container, `volumes` the host's path of each volume. After an error nothing
// is bound. `root` is "/".
absl::Status MountSubPaths(const FsRoot& root, const std::string& pod_directory,
                           const ContainerManifest& container,
                           const std::vector<std::string>& sub_paths,
                           const std::map<std::string, std::string>& volumes,
                           ::runtime::v1::ContainerConfig& config);

// Unmounts the container's subPaths, once no runtime needs them. OK without any. Mounts that a
// container made in its volume stay.
absl::Status UnmountSubPaths(const FsRoot& root, const std::string& pod_directory,
                             const std::string& container);

// False: UnmountSubPathsOfPod would find none.
absl::StatusOr<bool> HasMountedSubPaths(const FsRoot& root, const std::string& pod_directory);

// Unmounts like UnmountSubPaths, for all containers of the pod but those of `living`.
absl::Status UnmountSubPathsOfPod(const FsRoot& root, const std::string& pod_directory,
                                  const std::set<std::string>& living = {});

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_MOUNT_SUB_PATHS_H_
