// Files of configMap, secret, downwardAPI and projected volumes.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_FILES_VOLUME_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_FILES_VOLUME_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

struct VolumeFile {
  std::string content;
  int64_t mode = 0644;
};
// By path relative to the volume.
using VolumeFiles = std::map<std::string, VolumeFile>;

// The files of `volume`, which has `files`. Of two sources with the same path the later one wins.
// NOT_FOUND: an object or key is missing and not optional. INVALID_ARGUMENT: they have more than
// 64 MiB together. Errors hold no content.
absl::StatusOr<VolumeFiles> ContentsOf(const Manifest& pod, const Volume& volume,
                                       const PodContext& context);

// Makes `files` the contents of the volume's directory, all at once for its readers, as kubelet's
// AtomicWriter does:
//
//   ..<random>/a/b     the files, read-only to all but root
//   ..data             a link to that directory, replaced by rename(2)
//   a                  a link to ..data/a
//
// Does nothing where the contents are the same already. `group` owns the files and may read them;
// nullopt: root's group does. A volume that is mounted by subPath keeps its old file.
absl::Status WriteFiles(const FsRoot& directory, const VolumeFiles& files,
                        std::optional<gid_t> group);

// True where a source is a Secret: its files belong in memory.
bool HoldsSecret(const FilesVolume& volume);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_FILES_VOLUME_H_
