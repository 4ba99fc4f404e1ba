#include "agent/groups/open_cgroups.h"

#include <utility>

#include "base/status.h"
#include "systemd/cgroups.h"
#include "systemd/units.h"

namespace plimsoll::agent {

absl::StatusOr<std::unique_ptr<linux::CgroupManager>> OpenCgroups(const FsRoot& host,
                                                                  CgroupDriver driver) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto cgroups, linux::CgroupManager::Detect(host));
  if (driver == CgroupDriver::kCgroupfs) return cgroups;
  if (cgroups->layout() != linux::CgroupLayout::kV2) {
    return absl::FailedPreconditionError(
        "the cgroup driver systemd needs cgroup v2 alone, and this machine has cgroup v1; boot "
        "with systemd.unified_cgroup_hierarchy=1, or use the driver cgroupfs in agent and runtime");
  }
  auto units = systemd::ConnectUnits(host);
  if (!units.ok()) return Annotate(units.status(), "the cgroup driver systemd");
  return std::make_unique<systemd::SystemdCgroups>(std::move(cgroups), *std::move(units), host);
}

absl::StatusOr<bool> HasCgroupV2Alone(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  return cgroups->layout() == linux::CgroupLayout::kV2;
}

}  // namespace plimsoll::agent
