// kubelet's checkpoints of its CPU and memory managers, read once so that pods keep their places
// when a machine goes over to the agent.
#ifndef PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_
#define PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/managers/pod_grant.h"

namespace plimsoll::agent {

// By pod uid.
using KubeletGrants = std::map<std::string, PodGrant>;

// `cpu_state`, `memory_state`: the texts of cpu_manager_state and memory_manager_state; either may
// be empty. Grants hold what policies "static" and "Static" gave; of others nothing.
// INVALID_ARGUMENT names file, place and fault.
absl::StatusOr<KubeletGrants> ReadKubeletState(absl::string_view cpu_state,
                                               absl::string_view memory_state);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_
