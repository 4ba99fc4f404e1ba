// What a pod's own control group is to hold. Pure functions.
#ifndef PLIMSOLL_RUNTIME_POD_GROUP_SETTINGS_H_
#define PLIMSOLL_RUNTIME_POD_GROUP_SETTINGS_H_

#include "linux/cgroup/settings.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// The pod's resources and its overhead on top, as kubelet makes a pod's group
// (ResourceConfigForPod): shares, quota (in the resources' period), memory, memory and swap,
// processes, huge pages. Where the resources have no limit there is none, whatever the overhead.
// All else is the resources'.
linux::CgroupSettings PodGroupSettings(const SandboxSpec& pod);

// What of the group is to be written when it is to hold `after` in place of `before`: what differs,
// and what the update names, which the kernel may have lost.
linux::CgroupSettings ChangedSettings(const linux::CgroupSettings& before,
                                      const linux::CgroupSettings& after,
                                      const linux::CgroupSettings& named);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_GROUP_SETTINGS_H_
