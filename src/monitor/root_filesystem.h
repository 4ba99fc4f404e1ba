// The container's root filesystem: an overlay mounted in the mount namespace of this process.
#ifndef PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
#define PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_

#include <sys/types.h>

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Mounts the overlay of `lower`, `upper` and `work` at `target`; with `userns`, `lower` with its
// ids (the writable layer has them on the disk). Ends the process on failure.
void MountRootFilesystem(const LaunchPlan& plan);

// The owner of made directories; by default, the process's.
struct Owner {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};

// Makes `path` below the directory `root`, whose symbolic links can't lead out of it. Failures are
// left for the runtime to report.
void MakeDirectoryBelow(const char* root, const char* path, const Owner& owner);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
