// The picture of a pod whose client announced nothing, by kubelet's word (spec/pod_facts.h). Pure
// functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_KUBELET_PICTURE_H_
#define PLIMSOLL_RUNTIME_REQUESTS_KUBELET_PICTURE_H_

#include <string>
#include <vector>

#include "resources/requirements.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_facts.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Each field is by the container's own request once that is there, else by kubelet. Of two words
// about an amount Linux's holds (linux_holds.h). Devices granted count as requests and limits of
// their resource if kubelet doesn't tell the spec. `containers`: see MakePicture.
PodPicture PictureByKubelet(const SandboxSpec& pod, const PodFacts& facts,
                            const std::vector<ContainerSpec>& containers);

// The resources that kubelet told of a container; null: none, or the pod announced some itself.
const KubernetesResources* ToldByKubelet(const SandboxSpec& pod, const std::string& container);

// The total of a pod's spec as kubelet told it, without overhead.
resources::Requirements TotalToldBy(const PodFacts& facts);

// The pod's resources in Linux for a comparison with a total: without a lifted CPU quota, which
// kubelet leaves out as soon as one container has CPUs of its own.
linux::CgroupSettings ComparableWithTotal(const SandboxSpec& pod);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_KUBELET_PICTURE_H_
