// Both sockets' answers as one.
#ifndef PLIMSOLL_KUBELET_COMBINE_H_
#define PLIMSOLL_KUBELET_COMBINE_H_

#include "absl/status/statusor.h"
#include "kubelet/read_grants.h"
#include "kubelet/read_pod.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

// What either told, and what neither did. UNAVAILABLE with both reasons if both are errors.
absl::StatusOr<runtime::PodFacts> Combine(const absl::StatusOr<ToldPod>& pod,
                                          const absl::StatusOr<ToldGrants>& grants);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_COMBINE_H_
