// Whether a kubelet runs on this machine.
#ifndef PLIMSOLL_AGENT_KUBELET_CHECK_H_
#define PLIMSOLL_AGENT_KUBELET_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::agent {

// The program's exit status where one of the checks below keeps it away. plimsoll-agent.service
// names it in RestartPreventExitStatus=: another try would find the same.
constexpr int kExitOfAKubeletsNode = 3;
// Whether one of the checks gave this error.
bool IsAKubeletsNode(const absl::Status& status);

// FAILED_PRECONDITION: a kubelet, or an agent in its place, answers at a socket of pod resources:
// that of a kubelet with its default root directory, or that in `pod_resources_path`, which this
// agent is to serve (empty: none). Both would make pods, groups and volumes of one node. To be
// called before this agent serves a socket. `root`: "/".
absl::Status CheckNoKubelet(const FsRoot& root, const std::string& pod_resources_path);

// FAILED_PRECONDITION names a pod that a kubelet made: it has kubelet's labels, and none of
// Plimsoll's.
absl::Status CheckNoKubeletsPods(const std::vector<::runtime::v1::PodSandbox>& sandboxes);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_KUBELET_CHECK_H_
