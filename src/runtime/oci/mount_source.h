// Where what is mounted into a container comes from.
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
  std::string inode;  // "device:number" of what was there, as plimsoll-launch understands it
};

// What `mount.host_path` leads to: symbolic links are the host's, followed now. A path that is
// not there becomes a directory (0755), as kubelet expects of a runtime; it stays whatever becomes
// of the container. FAILED_PRECONDITION where the mount's propagation needs another mount than the
// path is on. `field` is for messages.
absl::StatusOr<MountSource> FindMountSource(const FsRoot& host, const Mount& mount,
                                            const std::string& field);

// Whether the mount is put together by plimsoll-launch before the OCI runtime binds it: an image,
// or ids that are mapped.
bool IsStaged(const Mount& mount);

// Where it is then, below the bundle's directory "stage".
std::string StagedPath(const std::string& stage, size_t index);

// Tells plimsoll-launch of the request's staged mounts, and of layers whose ids it is to map.
// `inodes`: of what FindMountSource has found, by the mount's index; nothing else is mounted.
void AddStageToPlan(const CreateRequest& request, const std::string& stage,
                    const std::map<size_t, std::string>& inodes, LaunchPlan* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_SOURCE_H_
