// The subPath of a volume mount.
#ifndef PLIMSOLL_POD_SUB_PATH_H_
#define PLIMSOLL_POD_SUB_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::pod {

// The file or directory that `sub_path` names in the volume at the absolute path `volume`, as an
// absolute path without symbolic links. A container may have written what is there, and the mount
// is made outside of it: so "/" and ".." in a link lead to the volume's own root at most, as they
// would with the volume mounted there. Holds for the moment: a container that runs beside can put a
// link into the way afterwards. NOT_FOUND when nothing is there. `root` is "/".
absl::StatusOr<std::string> ResolveSubPath(const FsRoot& root, const std::string& volume,
                                           const std::string& sub_path);

// The same; where nothing is there, makes a directory first, with those around it, in the mode of
// the volume, as kubelet does (k8s.io/mount-utils, SafeMakeDir).
absl::StatusOr<std::string> MakeSubPath(const FsRoot& root, const std::string& volume,
                                        const std::string& sub_path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_SUB_PATH_H_
