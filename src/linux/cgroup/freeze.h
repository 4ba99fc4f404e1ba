// Stopping a group where it is. See CgroupManager::Freeze.
#ifndef PLIMSOLL_LINUX_CGROUP_FREEZE_H_
#define PLIMSOLL_LINUX_CGROUP_FREEZE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

// By freezer.state (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst).
absl::StatusOr<bool> FreezeV1(CgroupTree& freezer, const std::string& group, absl::Time deadline);
// By cgroup.freeze; "frozen" in cgroup.events says that it is done.
absl::StatusOr<bool> FreezeV2(CgroupTree& tree, const std::string& group, absl::Time deadline);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_FREEZE_H_
