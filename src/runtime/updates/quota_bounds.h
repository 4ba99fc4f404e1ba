// Reasons for cgroup v1's refusals of CPU quotas, which say "invalid argument" and no more.
#ifndef PLIMSOLL_RUNTIME_UPDATES_QUOTA_BOUNDS_H_
#define PLIMSOLL_RUNTIME_UPDATES_QUOTA_BOUNDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

// The error for a container's quota that the kernel refused with `refused`: FAILED_PRECONDITION
// with both limits if the quota allows more CPU than `pod`, the group around it, has; else
// `refused`.
absl::Status NamePodsQuota(const linux::CgroupManager& cgroups, const std::string& pod,
                           const linux::CgroupSettings& wanted, const absl::Status& refused);

// The error for a pod's quota that the kernel refused with `refused`: FAILED_PRECONDITION with both
// limits if the quota allows less CPU than one of the pod's containers has; else `refused`. The
// pod's are those of `containers` whose sandbox is `pod_id`.
absl::Status NameContainersQuota(const linux::CgroupManager& cgroups, const std::string& pod_id,
                                 const std::vector<ContainerRecord>& containers,
                                 const linux::CgroupSettings& wanted, const absl::Status& refused);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATES_QUOTA_BOUNDS_H_
