// Why cgroup v1 refused a CPU quota: it says "invalid argument" and no more.
#ifndef PLIMSOLL_RUNTIME_QUOTA_BOUNDS_H_
#define PLIMSOLL_RUNTIME_QUOTA_BOUNDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

// `refused`, or FAILED_PRECONDITION that names both limits, where a container was to have more CPU
// than `pod`, the group around it, has.
absl::Status NamePodsQuota(const linux::CgroupManager& cgroups, const std::string& pod,
                           const linux::CgroupSettings& wanted, const absl::Status& refused);

// The same where a pod was to have less than one of its containers, those in `containers` whose
// sandbox is `pod_id`.
absl::Status NameContainersQuota(const linux::CgroupManager& cgroups, const std::string& pod_id,
                                 const std::vector<ContainerRecord>& containers,
                                 const linux::CgroupSettings& wanted, const absl::Status& refused);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_QUOTA_BOUNDS_H_
