// Effects of a pod's own resources (KEP-2837) beside those of its containers.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_POD_LEVEL_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_POD_LEVEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/requirements.h"

namespace plimsoll::pod {

// By the pod's own resources where it has some, else by its containers'.
resources::QosClass QosClassOf(const Manifest& pod);

// Computed like resources::OomScoreAdj. The pod's request above its containers' sum counts in equal
// parts for its containers and sidecars. `all` is every container, with defaults filled in.
int OomScoreAdjOf(const Manifest& pod, const std::vector<resources::ContainerRequirements>& all,
                  size_t index, int64_t memory_capacity_bytes);

// The container's requests and limits by which `linux` is made: its own, defaults filled in. A
// limit that it lacks is the pod's, as in kubelet, so that programs that read their own group's
// limit see one. A CPU limit without a request makes the shares, too.
resources::Requirements LinuxRequirementsOf(const Manifest& pod, size_t index);

// The resources of the pod as a whole, as kubelet sends them (calculateSandboxResources): CPU
// shares by the pod's requests, so that pods weigh against each other; limits of CPU and memory as
// `limits` says, and those of huge pages that the pod has itself. A sum above what the kernel holds
// is none.
absl::Status SetGroup(const Manifest& pod, const std::vector<resources::ContainerRequirements>& all,
                      SandboxLimits limits, ::runtime::v1::LinuxContainerResources* out);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_POD_LEVEL_H_
