// kubelet's checkpoints of its CPU and memory managers, read once so that pods keep their places
// when a machine goes over to the agent.
#ifndef PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_
#define PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/managers/pod_grant.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Grants of policies "static" and "Static"; nothing of others. Grants are for AllocationLedger's
// wishes: their memory has nodes and sizes, and its shares are not known (all are at the lowest
// node).
struct KubeletState {
  std::map<std::string, PodGrant> pods;  // by uid
  // By container id: the form of kubelets before 1.18 names neither pod nor container.
  std::map<std::string, resources::CpuSet> cpus_by_id;
};

// The most bytes of either text that are read.
inline constexpr size_t kMostKubeletState = 4 << 20;

// `cpu_state`, `memory_state`: the texts of cpu_manager_state and memory_manager_state; either may
// be empty. INVALID_ARGUMENT names file, place and fault. Checksums are not looked at: a wish is
// taken only where it is free and of the right size.
absl::StatusOr<KubeletState> ReadKubeletState(absl::string_view cpu_state,
                                              absl::string_view memory_state);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_KUBELET_STATE_H_
