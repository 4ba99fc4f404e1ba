// Mounts that make up a container's file systems where plain directories of the host don't suffice:
// id-mapped layers and volumes, contents of images.
#ifndef PLIMSOLL_MONITOR_VOLUMES_H_
#define PLIMSOLL_MONITOR_VOLUMES_H_

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Mounts a tmpfs at `stage`, and below it each `volume` at "volumes/<its name>". Does nothing
// without `stage`. Ends the process on failure.
void MountVolumes(const LaunchPlan& plan);

// Copies the mounts of all `lower`, with the ids of `userns`, to "layers/0", "layers/1" and so on
// below `stage`. Returns their number.
int MapLayers(const LaunchPlan& plan);

// Checks that `path` is a directory below the directory `root`, a descriptor. Symbolic links can't
// lead out of it. Mounts it also at "volumes/NAME" in `stage`, unless `name` is null; then links
// must not lead to the root itself, or into its /proc, /sys or /dev. Ends the process on failure.
void ExposeDirectory(int root, const char* path, const char* stage, const char* name);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_VOLUMES_H_
