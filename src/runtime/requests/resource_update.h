// Clients' requests to change the resources of an existing container or pod.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_RESOURCE_UPDATE_H_
#define PLIMSOLL_RUNTIME_REQUESTS_RESOURCE_UPDATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "qos/classes.h"
#include "runtime/spec/oci_extras.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// Update of a container; absent members stay as they are.
struct ResourceUpdate {
  linux::CgroupSettings cgroup;
  std::optional<int> oom_score_adj;
  qos::ClassNames classes;
  std::optional<KubernetesResources> kubernetes_resources;  // for the record alone
  bool shrink_memory = false;  // try to reclaim memory for a limit below the use
  // The parts of this update that plugins set, for the record alone.
  std::vector<PluginChange> changed_by;
};

// Update of a whole pod; absent members stay as they are.
struct SandboxUpdate {
  linux::CgroupSettings resources;
  linux::CgroupSettings overhead;
  std::optional<PodResources> pod_resources;       // replaced whole; for the record alone
  std::map<std::string, std::string> annotations;  // replaced whole, even by none; for the record
  bool shrink_memory = false;                      // as for a container, in the pod's own group
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_RESOURCE_UPDATE_H_
