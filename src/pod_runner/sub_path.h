// The subPath of a volume mount.
#ifndef PLIMSOLL_POD_RUNNER_SUB_PATH_H_
#define PLIMSOLL_POD_RUNNER_SUB_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::pod {

// The file or directory that `sub_path` names in the volume at the absolute path `volume`, as an
// absolute path without symbolic links. A container may have written these links, and the mount is
// made outside of it: "/" and ".." in a link lead to the volume's root at most, as they would with
// the volume mounted there. Holds for the moment: a container that shares the volume can replace a
// directory by a link afterwards. NOT_FOUND: nothing is there. `root` is "/".
absl::StatusOr<std::string> ResolveSubPath(const FsRoot& root, const std::string& volume,
                                           const std::string& sub_path);

// ResolveSubPath, but makes missing directories first, in the mode of the volume, as kubelet does
// (k8s.io/mount-utils, SafeMakeDir).
absl::StatusOr<std::string> MakeSubPath(const FsRoot& root, const std::string& volume,
                                        const std::string& sub_path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_SUB_PATH_H_
