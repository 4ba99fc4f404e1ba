// Resource settings in force in the kernel for a container or pod.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_EFFECTIVE_RESOURCES_H_
#define PLIMSOLL_RUNTIME_CGROUPS_EFFECTIVE_RESOURCES_H_

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/pod_objects.h"

namespace plimsoll::runtime {

struct EffectiveResources {
  linux::CgroupSettings cgroup;
  int oom_score_adj = 0;
  bool live = false;  // false: the container's group is gone, these are its last values
};

// The settings in force for a container; after its end, the last ones in its record. Keeps the
// oom_score_adj that it reads (last_values.h). Uses `cgroups` and `host` of the options. Takes
// Container::mutex, but not while it reads the kernel.
absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 Container& container);

// The settings in force for the pod's group, whoever made that. Not live and without values if the
// pod has ended.
absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 const Sandbox& sandbox);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_EFFECTIVE_RESOURCES_H_
