// The container's root filesystem: an overlay mounted in the mount namespace of this process.
#ifndef PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
#define PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Mounts the overlay of `lower`, `upper` and `work` at `target`; with `userns`, `lower` with its
// ids (the writable layer has them on the disk). Ends the process on failure.
void MountRootFilesystem(const LaunchPlan& plan);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
