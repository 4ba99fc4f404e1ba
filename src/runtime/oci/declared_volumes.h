// VOLUME of an image: directories that its containers can write, whatever the root filesystem is.
//
// Such a directory is one of the container's overlay: it has the image's content and owners, the
// writable layer takes what is written, and it ends with the container. Below a read-only root it
// is mounted onto itself, since only the root's mount is read-only then.
#ifndef PLIMSOLL_RUNTIME_OCI_DECLARED_VOLUMES_H_
#define PLIMSOLL_RUNTIME_OCI_DECLARED_VOLUMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/oci/crun/plan.h"

namespace plimsoll::runtime {

struct DeclaredVolumes {
  std::vector<std::string> paths;  // absolute, parents first
  bool mounted = false;            // by the spec, from the stage
};

// Reads the volumes `declared` by the image, and adds mounts for them to the OCI spec `config` if
// its root is read-only. Call it when the spec has all its other mounts: a volume at or below one
// is left to that mount. INVALID_ARGUMENT for more than 64, and for a volume at /, or at or below
// /proc, /dev or /sys.
absl::StatusOr<DeclaredVolumes> AddDeclaredVolumes(const std::vector<std::string>& declared,
                                                   const std::string& stage,
                                                   nlohmann::json* config);

void AddDeclaredVolumesToPlan(const DeclaredVolumes& volumes, PlanWriter* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_DECLARED_VOLUMES_H_
