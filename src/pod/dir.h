// The directory of a pod: its logs and its emptyDir volumes.
//
//   <state directory of the daemon>/pods/<pod uid>/logs
//   <state directory of the daemon>/pods/<pod uid>/volumes/<name>
//
// The daemon rotates logs below pods/ by itself: nobody else does.
#ifndef PLIMSOLL_POD_DIR_H_
#define PLIMSOLL_POD_DIR_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "pod/client.h"
#include "pod/manifest.h"

namespace plimsoll::pod {

std::string PodsDirectory(absl::string_view state_directory);
// `uid` is not checked.
std::string PodDirPath(absl::string_view state_directory, absl::string_view uid);

struct PodDir {
  std::string path;
  std::string log_directory;
  std::map<std::string, std::string> volumes;  // name -> host path
  UniqueFd lock;  // shared, held: RemoveOrphanedPodDirs leaves the directory alone
};

// Makes the directory, and the files and directories of hostPath volumes of type ...OrCreate. Those
// of another type must exist. A directory that is there already is used, with all that is in it.
// `root` is "/". After an error a new directory is removed again, and hostPaths stay, as under
// kubelet.
absl::StatusOr<PodDir> MakePodDir(const FsRoot& root, const std::string& state_directory,
                                  absl::string_view uid, const Manifest& pod);

// Removes directories whose pod the daemon doesn't have and no process holds: those of a process
// that was killed, or told to end at once.
absl::Status RemoveOrphanedPodDirs(Client& client, const FsRoot& root,
                                   const std::string& state_directory);

// True: the pod has a directory, and the process that made it has ended or left the pod running.
bool IsLetGo(const FsRoot& root, const std::string& state_directory, absl::string_view uid);

// Removes the pod's directory. OK without one. INVALID_ARGUMENT: `uid` is malformed, as another
// client's may be.
absl::Status RemovePodDir(const FsRoot& root, const std::string& state_directory,
                          absl::string_view uid);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_DIR_H_
