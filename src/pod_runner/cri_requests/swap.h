// Swap of containers (KEP-2400), as kubelet sends it (pkg/kubelet/kuberuntime).
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_SWAP_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_SWAP_H_

#include <cstddef>

#include "base/fs_root.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// `root` is "/". kNone: the kernel doesn't count swap, or doesn't say.
SwapControl SwapControlOf(const FsRoot& root);

// Whether limits of memory are cgroup v2's. `root` is "/".
bool HasUnifiedGroups(const FsRoot& root);

// LimitedSwap lets the container swap: the pod is Burstable and not critical, and the container
// requests memory, but less than its limit. cgroup v2 alone has such a limit.
bool MaySwap(const Manifest& pod, size_t index, const PodContext& context);

// Sets the container's swap: the unified "memory.swap.max" with cgroup v2, and with v1, where
// nothing may be swapped, memory and swap together as much as the memory's limit, which `out` has.
// Sets nothing without PodContext::swap, or where the kernel has no control.
void SetSwap(const Manifest& pod, size_t index, const PodContext& context,
             ::runtime::v1::LinuxContainerResources* out);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_SWAP_H_
