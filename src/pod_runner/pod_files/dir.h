// The directory of a pod: its logs and the volumes that are its own.
//
//   <state directory of the daemon>/pods/<pod uid>/logs
//   <state directory of the daemon>/pods/<pod uid>/volumes/<name>
//   <state directory of the daemon>/pods/<pod uid>/volume-subpaths  see mount_sub_paths.h
//   <state directory of the daemon>/pods/<pod uid>/hosts
//   <state directory of the daemon>/pods/<pod uid>/termination    see termination_message.h
//
// The daemon rotates logs below pods/ by itself: nobody else does.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_DIR_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_DIR_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"

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

// Makes the directory, or what of it is missing, and the files and directories of hostPath volumes
// of type ...OrCreate. Those of another type must exist. Image volumes have no path here. `context`
// has objects, addresses and capacities for volumes of files and in memory; `uid` counts, not its
// own. `root` is "/".
//
// NOT_FOUND: a hostPath, an object or a key is missing. After an error a directory that wasn't
// there before is removed again, and hostPaths stay, as under kubelet.
absl::StatusOr<PodDir> MakePodDir(const FsRoot& root, const std::string& state_directory,
                                  absl::string_view uid, const Manifest& pod,
                                  const PodContext& context = {});

// Writes the pod's /etc/hosts (hosts_file.h), over an earlier one of the same file: containers that
// have it mounted see the change. Returns its path, for PodContext.
absl::StatusOr<std::string> WriteHostsFile(const FsRoot& root, const PodDir& dir,
                                           const Manifest& pod, const PodContext& context);

// Removes directories whose pod the daemon doesn't have and no process holds: those of a process
// that was killed, or ended at once by request; likewise the files of their locks (PodLock). Of a
// pod that the daemon has and no process holds, the subPaths of containers that have ended are
// unmounted.
absl::Status RemoveOrphanedPodDirs(Client& client, const FsRoot& root,
                                   const std::string& state_directory);

// True: the pod has a directory, and the process that made it has ended or left the pod running.
bool IsLetGo(const FsRoot& root, const std::string& state_directory, absl::string_view uid);

// Unmounts the subPaths of a pod whose containers have ended. OK without a directory.
// INVALID_ARGUMENT as RemovePodDir's.
absl::Status ReleaseSubPaths(const FsRoot& root, const std::string& state_directory,
                             absl::string_view uid);

// Removes the pod's directory and unmounts its volumes in memory and its subPaths. OK without one.
// INVALID_ARGUMENT: `uid` is malformed, as another client's may be.
absl::Status RemovePodDir(const FsRoot& root, const std::string& state_directory,
                          absl::string_view uid);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_DIR_H_
