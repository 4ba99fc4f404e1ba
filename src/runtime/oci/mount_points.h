// Mount points of a container in its root filesystem, and their kinds.
//
// The OCI runtime makes those that the image lacks. Below a symbolic link of the image that leads
// nowhere (/var/run -> /run without /run) crun 1.8 to 1.28 fails, and runc makes the link's target
// inside the root. So plimsoll-launch makes these before (monitor/make_below.h).
#ifndef PLIMSOLL_RUNTIME_OCI_MOUNT_POINTS_H_
#define PLIMSOLL_RUNTIME_OCI_MOUNT_POINTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/crun/plan.h"
#include "runtime/oci/mount_source.h"

namespace plimsoll::runtime {

struct MountPoint {
  std::string path;  // in the container, absolute
  MountKind kind = MountKind::kDirectory;

  bool operator==(const MountPoint&) const = default;
};

// The mount points of the OCI spec's `mounts`, in their order, without those in /proc, /dev and
// /sys. `volumes` are those of `mounts` whose source is in the `stage`. INVALID_ARGUMENT for a
// directory at the place of a file that every container has (/etc/hosts, /etc/hostname,
// /etc/resolv.conf), and for mounts of the request at one place of which one is a directory and the
// other a file: where the image lacks the file, a directory would appear there without a word.
absl::StatusOr<std::vector<MountPoint>> MountPointsOf(const CreateRequest& request,
                                                      const FsRoot& host, const std::string& stage,
                                                      const std::vector<HeldVolume>& volumes,
                                                      const nlohmann::json& mounts);

void AddMountPointsToPlan(const std::vector<MountPoint>& points, PlanWriter* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_POINTS_H_
