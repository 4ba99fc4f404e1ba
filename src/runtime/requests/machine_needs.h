// The size that a pod's virtual machine needs while an update is under way: the pod's announcement
// comes before its containers follow it, and a container may not follow at all. Pure functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_MACHINE_NEEDS_H_
#define PLIMSOLL_RUNTIME_REQUESTS_MACHINE_NEEDS_H_

#include <vector>

#include "resources/requirements.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// The larger of two: what the pod needs by its picture, and what the groups of its living
// containers may use by their settings in Linux. A setting counts where an amount of its kind is
// written. `pod` and `picture` are without the overhead, `living` are the containers with a group.
//
// The pod's own amounts (KEP-2837, or kubelet's sums) stand for the sum of its containers', which
// may be larger. So while a container hasn't followed, no more than SandboxSpec::needed_before is
// held for it.
resources::Requirements MachineNeeds(const SandboxSpec& pod, const PodPicture& picture,
                                     const std::vector<ContainerSpec>& living);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_MACHINE_NEEDS_H_
