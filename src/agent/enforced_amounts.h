// The amounts that control groups are held to, as kubelet computes them
// (pkg/kubelet/cm/node_container_manager_linux.go). Pure functions.
#ifndef PLIMSOLL_AGENT_ENFORCED_AMOUNTS_H_
#define PLIMSOLL_AGENT_ENFORCED_AMOUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/config.h"
#include "agent/groups/parent_groups.h"
#include "agent/groups/reserved_groups.h"
#include "base/fs_root.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// The limits of all pods together: the node's capacity and `max_pids` less `reserved`, at least
// zero. Other than status.allocatable, memory keeps the huge pages in it.
Allocatable KubepodsAmounts(const resources::ResourceList& capacity,
                            const resources::ResourceList& reserved, int64_t max_pids);
// "cpu", "memory", "pid" and huge pages of a list.
Allocatable AmountsOf(const resources::ResourceList& list);

// The part of the capacity that kubepods' limits lack: nothing unless pods are enforced.
resources::ResourceList EnforcedReservation(const AgentConfig& config);
// The groups of the system and the agent that enforceNodeAllocatable names.
std::vector<ReservedGroup> ReservedGroupsOf(const AgentConfig& config);

// The most processes of the machine at `host` ("/"); 0: unknown.
int64_t MaxPids(const FsRoot& host);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_ENFORCED_AMOUNTS_H_
