// The groups of the system and of the agent itself, which an administrator makes: they get the
// limits that are reserved for them (kubelet's enforceNodeAllocatable: system-reserved,
// kube-reserved).
#ifndef PLIMSOLL_AGENT_GROUPS_RESERVED_GROUPS_H_
#define PLIMSOLL_AGENT_GROUPS_RESERVED_GROUPS_H_

#include <string>

#include "absl/status/status.h"
#include "agent/groups/limits.h"
#include "agent/groups/parent_groups.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {

struct ReservedGroup {
  std::string key;   // "system-reserved-compressible": of enforceNodeAllocatable
  std::string path;  // "/system.slice"
  // An amount of 0 isn't reserved, and leaves the group's limit as it is.
  Allocatable amounts;
  bool only_cpu = false;  // the compressible form: CPU shares alone
};

// FAILED_PRECONDITION: the machine at `host` ("/") has no such group.
absl::Status CheckReservedGroup(const FsRoot& host, const ReservedGroup& group);
// Writes those limits that aren't in force. NOT_FOUND without the group; it is never made here.
// FAILED_PRECONDITION: nothing is reserved, or the group uses more memory than is.
absl::Status LimitReservedGroup(linux::CgroupManager& cgroups, const GroupMachine& machine,
                                const ReservedGroup& group);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_RESERVED_GROUPS_H_
