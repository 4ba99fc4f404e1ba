// What was last seen of a container in the kernel: its record keeps that for the time when nothing
// of it is there to be read.
#ifndef PLIMSOLL_RUNTIME_LAST_VALUES_H_
#define PLIMSOLL_RUNTIME_LAST_VALUES_H_

#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/pod_objects.h"

namespace plimsoll::runtime {

// Both take Container::mutex, change the record of a container that is live, and save nothing. They
// return whether the value is another than before. What can't be read changes nothing.

// The oom_score_adj of its init.
bool SeeOomScore(const FsRoot& host, Container& container);

// The settings of its group, where that ends with its last process (CgroupManager::
// EndsWithProcesses); else the exit reads them.
bool SeeGroup(const linux::CgroupManager& cgroups, Container& container);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_LAST_VALUES_H_
