// Settings for a pod's own control group. Pure functions.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_POD_GROUP_SETTINGS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_POD_GROUP_SETTINGS_H_

#include "linux/cgroup/settings.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// The pod's resources plus its overhead, as kubelet sets a pod's group (ResourceConfigForPod):
// shares, quota (in the resources' period), memory, memory and swap, processes, huge pages. A limit
// that the resources lack stays absent, whatever the overhead. All other settings are the
// resources'.
linux::CgroupSettings PodGroupSettings(const SandboxSpec& pod);

// The settings to write when a group goes from `before` to `after`: those that differ, and those
// that the update names, which the kernel may have lost.
linux::CgroupSettings ChangedSettings(const linux::CgroupSettings& before,
                                      const linux::CgroupSettings& after,
                                      const linux::CgroupSettings& named);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_POD_GROUP_SETTINGS_H_
