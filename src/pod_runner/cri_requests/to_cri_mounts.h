// The mounts of a container, from its manifest. Used by to_cri.cc only.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_MOUNTS_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_MOUNTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

namespace cri = ::runtime::v1;

// Maps the ids of the pod's user namespace.
void SetIds(const PodContext& context, cri::IDMapping* out);

// Adds a mount for each volumeMount, in their order, then those of /etc/hosts and of the
// termination log. Returns the sub-paths, as PodConfigs has them. `variables`: the container's,
// for subPathExpr, which takes `room` with them.
absl::StatusOr<std::vector<std::string>> SetMounts(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context,
    const std::map<std::string, std::string>& variables, ProgramRoom& room,
    cri::ContainerConfig* config);

// Adds the mounts of a container's devices behind all others. Another mount at the same path of the
// container wins, as under kubelet, where it comes later and covers the device's.
void SetDeviceMounts(const GivenDevices& devices, cri::ContainerConfig* config);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_MOUNTS_H_
