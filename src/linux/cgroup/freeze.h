// Freezes a group. See CgroupManager::Freeze.
#ifndef PLIMSOLL_LINUX_CGROUP_FREEZE_H_
#define PLIMSOLL_LINUX_CGROUP_FREEZE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

// Uses freezer.state (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst).
absl::StatusOr<bool> FreezeV1(CgroupTree& freezer, const std::string& group, absl::Time deadline);
// Uses cgroup.freeze; "frozen" in cgroup.events confirms it.
absl::StatusOr<bool> FreezeV2(CgroupTree& tree, const std::string& group, absl::Time deadline);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_FREEZE_H_
