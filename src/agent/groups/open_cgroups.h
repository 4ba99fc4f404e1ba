// The manager of the machine's control groups for a cgroup driver.
#ifndef PLIMSOLL_AGENT_GROUPS_OPEN_CGROUPS_H_
#define PLIMSOLL_AGENT_GROUPS_OPEN_CGROUPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/groups/group_names.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {

// FAILED_PRECONDITION: no hierarchy is mounted; or for systemd, the machine isn't run by it or
// isn't on cgroup v2 alone.
absl::StatusOr<std::unique_ptr<linux::CgroupManager>> OpenCgroups(const FsRoot& host,
                                                                  CgroupDriver driver);
// Whether the machine at `host` has cgroup v2 alone.
absl::StatusOr<bool> HasCgroupV2Alone(const FsRoot& host);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_OPEN_CGROUPS_H_
