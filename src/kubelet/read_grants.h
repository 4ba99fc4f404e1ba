// Answers of PodResources.
#ifndef PLIMSOLL_KUBELET_READ_GRANTS_H_
#define PLIMSOLL_KUBELET_READ_GRANTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kubelet/kubelet.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

inline constexpr int kMostGrantBytes = 1 << 20;     // of one pod
inline constexpr int kMostAllGrantBytes = 4 << 20;  // of all

using ToldGrants = std::map<std::string, runtime::ContainerGrants>;  // by container

// `answer` is a serialized GetPodResourcesResponse. INVALID_ARGUMENT: malformed, of another pod, or
// with a CPU or NUMA node that no machine has; RESOURCE_EXHAUSTED: too large.
absl::StatusOr<ToldGrants> ReadGrants(absl::string_view answer, const runtime::PodIdentity& pod);

// `answer` is a serialized ListPodResourcesResponse. Errors as of ReadGrants.
absl::StatusOr<Grants> ReadAllGrants(absl::string_view answer);

// `answer` is a serialized AllocatableResourcesResponse: all devices of device plugins. Errors as
// of ReadGrants.
absl::StatusOr<std::vector<Grants::Devices>> ReadDeviceTotals(absl::string_view answer);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_READ_GRANTS_H_
