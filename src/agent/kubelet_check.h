// Whether a kubelet runs on this machine.
#ifndef PLIMSOLL_AGENT_KUBELET_CHECK_H_
#define PLIMSOLL_AGENT_KUBELET_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::agent {

// FAILED_PRECONDITION: a kubelet, or an agent in its place, answers at kubelet's socket of pod
// resources. Both would make pods, groups and volumes of one node. To be called before this agent
// serves that socket.
absl::Status CheckNoKubelet();

// FAILED_PRECONDITION names a pod that a kubelet made: it has kubelet's labels, and none of
// Plimsoll's.
absl::Status CheckNoKubeletsPods(const std::vector<::runtime::v1::PodSandbox>& sandboxes);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_KUBELET_CHECK_H_
