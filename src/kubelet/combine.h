// Both sockets' answers as one.
#ifndef PLIMSOLL_KUBELET_COMBINE_H_
#define PLIMSOLL_KUBELET_COMBINE_H_

#include "absl/status/statusor.h"
#include "kubelet/read_grants.h"
#include "kubelet/read_pod.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

// The facts from either socket, and those missing in both. UNAVAILABLE with both reasons if both
// are errors, or DEADLINE_EXCEEDED if one of them is.
absl::StatusOr<runtime::PodFacts> Combine(const absl::StatusOr<ToldPod>& pod,
                                          const absl::StatusOr<ToldGrants>& grants);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_COMBINE_H_
