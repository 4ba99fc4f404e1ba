// The container's root filesystem: an overlay mounted in the mount namespace of this process.
#ifndef PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
#define PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Mounts what `lower`, `upper` and `work` say at `target`. Ends the process on failure.
void MountRootFilesystem(const LaunchPlan& plan);

// Makes `path` below the directory `root`, whose symbolic links can't lead out of it. What can't be
// made is for the runtime to complain about.
void MakeDirectoryBelow(const char* root, const char* path);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_ROOT_FILESYSTEM_H_
