// What the kernel enforces for a container or pod now.
#ifndef PLIMSOLL_RUNTIME_EFFECTIVE_RESOURCES_H_
#define PLIMSOLL_RUNTIME_EFFECTIVE_RESOURCES_H_

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "runtime/engine_options.h"
#include "runtime/pod_objects.h"

namespace plimsoll::runtime {

struct EffectiveResources {
  linux::CgroupSettings cgroup;
  int oom_score_adj = 0;
  bool live = false;  // false: the container's group is gone, these are its last values
};

// Of a container, as far as it has ended by its record. Keeps the oom_score_adj that it sees
// (last_values.h). Uses `cgroups` and `host` of the options. Takes Container::mutex, not over the
// look at the kernel.
absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 Container& container);

// Of the pod's group, whoever has made it; not live, and without values, when the pod has ended.
absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 const Sandbox& sandbox);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_EFFECTIVE_RESOURCES_H_
