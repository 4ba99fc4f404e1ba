// Values last read from the kernel about a container: its record keeps them for the time after its
// end.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_LAST_VALUES_H_
#define PLIMSOLL_RUNTIME_CGROUPS_LAST_VALUES_H_

#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/objects/pod_objects.h"

namespace plimsoll::runtime {

// Both functions take Container::mutex, change the record of a live container in memory alone, and
// return whether the value has changed. A value that can't be read changes nothing.

// Reads the oom_score_adj of the container's init.
bool SeeOomScore(const FsRoot& host, Container& container);

// Reads the settings of the container's group, if the group ends with its last process
// (CgroupManager::EndsWithProcesses). Other groups are read at the exit.
bool SeeGroup(const linux::CgroupManager& cgroups, Container& container);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_LAST_VALUES_H_
