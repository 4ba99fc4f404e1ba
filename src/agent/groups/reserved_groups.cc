#include "agent/groups/reserved_groups.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/groups/open_cgroups.h"
#include "base/status.h"
#include "resources/requirements.h"

namespace plimsoll::agent {
namespace {

linux::CgroupSettings LimitsOf(const ReservedGroup& group) {
  linux::CgroupSettings limits;
  const Allocatable& amounts = group.amounts;
  if (amounts.cpu_milli > 0) limits.cpu_shares = resources::MilliCpuToShares(amounts.cpu_milli);
  if (group.only_cpu) return limits;
  if (amounts.memory_bytes > 0) limits.memory_limit_bytes = amounts.memory_bytes;
  if (amounts.pids > 0) limits.pids_limit = amounts.pids;
  limits.hugetlb_limits = amounts.hugepages;
  return limits;
}

}  // namespace

absl::Status CheckReservedGroup(const FsRoot& host, const ReservedGroup& group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, OpenCgroups(host, CgroupDriver::kCgroupfs));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, cgroups->Exists(group.path));
  if (exists) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("enforceNodeAllocatable: ", group.key, ": cgroup ", group.path,
                   " doesn't exist; make it, or take ", group.key, " out"));
}

absl::Status LimitReservedGroup(linux::CgroupManager& cgroups, const GroupMachine& machine,
                                const ReservedGroup& group) {
  linux::CgroupSettings limits = LimitsOf(group);
  if (limits == linux::CgroupSettings()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing is reserved for cgroup ", group.path));
  }
  return WriteChanges(cgroups, group.path, Fit(std::move(limits), machine));
}

}  // namespace plimsoll::agent
