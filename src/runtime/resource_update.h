// What clients ask for when they change the resources of a container or pod that is there.
#ifndef PLIMSOLL_RUNTIME_RESOURCE_UPDATE_H_
#define PLIMSOLL_RUNTIME_RESOURCE_UPDATE_H_

#include <map>
#include <optional>
#include <string>

#include "linux/cgroup/settings.h"
#include "qos/classes.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// What an update asks for; absent members stay as they are.
struct ResourceUpdate {
  linux::CgroupSettings cgroup;
  std::optional<int> oom_score_adj;
  qos::ClassNames classes;
  std::optional<KubernetesResources> kubernetes_resources;  // for the record alone
  bool shrink_memory = false;  // try to make room for a memory limit below what is in use
};

// What an update of a whole pod asks for; absent members stay as they are.
struct SandboxUpdate {
  linux::CgroupSettings resources;
  linux::CgroupSettings overhead;
  std::optional<PodResources> pod_resources;       // replaced whole; for the record alone
  std::map<std::string, std::string> annotations;  // replaced whole, by none too; for the record
  bool shrink_memory = false;                      // as of a container's, in the pod's own group
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_RESOURCE_UPDATE_H_
