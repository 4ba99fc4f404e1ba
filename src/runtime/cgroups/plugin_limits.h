// Limits that plugins set. A client's limit that this machine can't hold is left out with a
// warning, as clients send some to every machine. A plugin relies on its own, so those are refused.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_PLUGIN_LIMITS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_PLUGIN_LIMITS_H_

#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/settings.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/oci_extras.h"

namespace plimsoll::runtime {

// The members of `settings` that `changes` name.
linux::CgroupSettings SettingsBy(const std::vector<PluginChange>& changes,
                                 const linux::CgroupSettings& settings);

// FAILED_PRECONDITION names the plugin and the field of a limit, or of an oom_score_adj, in
// `wanted` that this machine can't give, and the reason. Some plugins repeat what the container
// has: values equal to those in `before` pass.
absl::Status CheckPluginLimits(const ContainerSpec& before, const ResourceUpdate& wanted,
                               const ContainerRuntime& runtime);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_PLUGIN_LIMITS_H_
