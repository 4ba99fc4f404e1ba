// What a container's file systems are put together from, where that is more than directories of the
// host as they are: id-mapped layers and volumes, contents of images.
#ifndef PLIMSOLL_MONITOR_VOLUMES_H_
#define PLIMSOLL_MONITOR_VOLUMES_H_

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Mounts a tmpfs at `stage`, and below it what each `volume` says, at "volumes/<its name>". Without
// `stage`, does nothing. Ends the process on failure.
void MountVolumes(const LaunchPlan& plan);

// Copies of the mounts of all `lower`, with the ids of `userns`, as "layers/0", "layers/1" and so
// on below `stage`. How many.
int MapLayers(const LaunchPlan& plan);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_VOLUMES_H_
