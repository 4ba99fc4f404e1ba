// The subPath of a volume mount.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_SUB_PATH_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_SUB_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::pod {

// The file or directory that `sub_path` names in the volume at the absolute path `volume`, as an
// O_PATH descriptor. A container may have written the links on the way, and the mount is made
// outside of it: "/" and ".." in a link lead to the volume's root at most, as they would with the
// volume mounted there. A container that shares the volume may replace a directory by a link at any
// time, so the descriptor counts from then on, and never its path. NOT_FOUND: nothing is there.
// `root` is "/".
absl::StatusOr<UniqueFd> OpenSubPath(const FsRoot& root, const std::string& volume,
                                     const std::string& sub_path);

// OpenSubPath, but makes missing directories first, in the mode of the volume, as kubelet does
// (k8s.io/mount-utils, SafeMakeDir). Changes the mode of no directory that was there before.
// NOT_FOUND: a link on the way leads nowhere in the volume; the message names it.
absl::StatusOr<UniqueFd> MakeSubPath(const FsRoot& root, const std::string& volume,
                                     const std::string& sub_path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_SUB_PATH_H_
