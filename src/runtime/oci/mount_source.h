// Sources of a container's mounts.
#ifndef PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_
#define PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/crun/plan.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

struct MountSource {
  std::string path;  // real, without symbolic links, at the time of the look-up; for messages
  UniqueFd file;     // O_PATH; the name may lead elsewhere by now
};

// The mount point of a volume is of the same kind, and is made so where the image lacks it.
enum class MountKind { kDirectory, kFile };

// A volume of a container: a detached copy of its source's mount. plimsoll-launch attaches it at
// StagedPath, which no container can reach, and the OCI runtime binds it from there. So nobody
// opens the source by its name again.
struct HeldVolume {
  std::string name;
  std::string path;  // for messages
  std::string map;   // ids, in plimsoll-launch's format; empty: as they are
  MountKind kind = MountKind::kDirectory;
  UniqueFd tree;
};

// The file at `mount.host_path`: symbolic links are the host's, followed now. A missing path
// becomes a directory (0755), as kubelet expects of a runtime; it stays whatever becomes of the
// container. FAILED_PRECONDITION where the mount's propagation needs a mount of another kind than
// the path's: a container that waits for mounts that never come is harder to understand than one
// that isn't created. `field` is for messages.
absl::StatusOr<MountSource> FindMountSource(const FsRoot& host, const Mount& mount,
                                            const std::string& field);

// The file at this path of the host, which must exist.
absl::StatusOr<MountSource> FindExistingSource(const FsRoot& host, const std::string& path);

// Copies the source's mount for the volume `name`.
absl::StatusOr<HeldVolume> HoldVolume(const MountSource& source, std::string name);

// The ids of a mount in plimsoll-launch's format; empty: as they are.
std::string IdsOf(const CreateRequest& request, const Mount& mount);

// The path of a volume in a container's stage: the bundle's directory "stage".
std::string StagedPath(const std::string& stage, absl::string_view volume);
std::string StagedPath(const std::string& stage, size_t mount_index);

// Adds the volumes to the plan, the request's images, and layers whose ids are mapped; the stage
// itself if one of them or something else needs it (`is_needed`).
void AddStageToPlan(const CreateRequest& request, const std::string& stage,
                    std::vector<HeldVolume> volumes, bool is_needed, PlanWriter* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_
