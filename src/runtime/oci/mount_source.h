// Sources of a container's mounts.
#ifndef PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_
#define PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/crun/plan.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

struct MountSource {
  std::string path;   // real, without symbolic links
  std::string inode;  // "device:number" of the file found, in plimsoll-launch's format
};

// The file at `mount.host_path`: symbolic links are the host's, followed now. A missing path
// becomes a directory (0755), as kubelet expects of a runtime; it stays whatever becomes of the
// container. FAILED_PRECONDITION where the mount's propagation needs a mount of another kind than
// the path's. `field` is for messages.
absl::StatusOr<MountSource> FindMountSource(const FsRoot& host, const Mount& mount,
                                            const std::string& field);

// Whether plimsoll-launch puts the mount together before the OCI runtime binds it: an image, or
// mapped ids.
bool IsStaged(const Mount& mount);

// The path of a staged mount, below the bundle's directory "stage".
std::string StagedPath(const std::string& stage, size_t index);

// Adds the request's staged mounts to the plan, and layers whose ids are mapped. `inodes`: results
// of FindMountSource, by the mount's index; plimsoll-launch mounts no other inode.
void AddStageToPlan(const CreateRequest& request, const std::string& stage,
                    const std::map<size_t, std::string>& inodes, LaunchPlan* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_
