// The directory that `plimsoll run` keeps for a pod: its logs and its emptyDir volumes.
//
//   <state directory of the daemon>/cli/<pod uid>/logs
//   <state directory of the daemon>/cli/<pod uid>/volumes/<name>
#ifndef PLIMSOLL_CLI_POD_DIR_H_
#define PLIMSOLL_CLI_POD_DIR_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "cli/client.h"
#include "cli/manifest.h"

namespace plimsoll::cli {

struct PodDir {
  std::string path;
  std::string log_directory;
  std::map<std::string, std::string> volumes;  // name -> host path
  UniqueFd lock;                               // held: RemoveOrphanedPodDirs leaves it alone
};

// Makes the directory, and for hostPath volumes what their type says should be made or be there.
// `root` is "/". Removes the pod's directory again after an error; what a hostPath of type
// ...OrCreate made stays, as under kubelet.
absl::StatusOr<PodDir> MakePodDir(const FsRoot& root, const std::string& state_directory,
                                  absl::string_view uid, const PodManifest& pod);

// Removes the directories of pods that are no more, or never came to be: of a `plimsoll run` that
// was killed, or told to end at once.
absl::Status RemoveOrphanedPodDirs(Client& client, const FsRoot& root,
                                   const std::string& state_directory);

// Whether `plimsoll run` made the pod and has let go of it: it was detached, or its `run` has
// ended.
bool IsLetGo(const FsRoot& root, const std::string& state_directory, absl::string_view uid);

// OK when there is none. `uid` is checked: it may come from another client's pod.
absl::Status RemovePodDir(const FsRoot& root, const std::string& state_directory,
                          absl::string_view uid);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_DIR_H_
