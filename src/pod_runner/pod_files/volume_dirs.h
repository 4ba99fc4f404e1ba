// Directories of the volumes that belong to a pod: emptyDir, and files of objects.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_VOLUME_DIRS_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_VOLUME_DIRS_H_

#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// Makes the volume's directory at the absolute path `path`, or what of it is missing: mounts a
// tmpfs for medium Memory and for Secrets, writes files, gives the pod's fsGroup the directory.
// After an error the directory may be there in part. `root` is "/".
absl::Status MakeVolumeDir(const FsRoot& root, const std::string& path, const Manifest& pod,
                           const Volume& volume, const PodContext& context);

// Writes the volume's files again: an object has changed. Readers see all of the change at once.
absl::Status RefreshVolumeDir(const FsRoot& root, const std::string& path, const Manifest& pod,
                              const Volume& volume, const PodContext& context);

// Unmounts what MakeVolumeDir mounted at or below the absolute path `directory`.
absl::Status UnmountVolumes(const FsRoot& root, const std::string& directory);

// The size of a tmpfs for the volume: its limit, the sum of the containers' memory limits where
// each has one, and the node's memory, whichever is least (kubelet: pkg/volume/emptydir). 0: no
// size is known.
uint64_t MemoryVolumeBytes(const Manifest& pod, const Volume& volume, const PodContext& context);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_VOLUME_DIRS_H_
