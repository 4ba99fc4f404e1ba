// Who manages control groups: this daemon alone, or systemd with it.
#ifndef PLIMSOLL_DAEMON_CGROUP_DRIVER_H_
#define PLIMSOLL_DAEMON_CGROUP_DRIVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "daemon/config.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::daemon {

struct CgroupDriver {
  std::unique_ptr<linux::CgroupManager> cgroups;
  bool systemd = false;    // what kubelet is to use
  std::string pod_parent;  // group of the pods that name no parent of their own
  std::string monitors;    // group of monitors; empty: the daemon's own
  std::string warning;     // for the log; empty: none
};

// As the configuration says. FAILED_PRECONDITION where it asks for systemd and that can't be had.
absl::StatusOr<CgroupDriver> OpenCgroupDriver(const FsRoot& host, const Config& config,
                                              bool standalone);

// Whether that would be systemd's. `auto` means systemd where it runs a machine with cgroup v2
// alone, its bus is there and cgroup_parent can be a slice; in a standalone daemon, never.
bool WantsSystemd(const FsRoot& host, const Config& config, linux::CgroupLayout layout,
                  bool standalone);

// What of it can be told without the machine. As OpenCgroupDriver.
absl::Status CheckCgroupDriver(const Config& config);

// CgroupDriver::pod_parent. INVALID_ARGUMENT: it must be a slice and can't.
absl::StatusOr<std::string> PodParent(const Config& config, bool systemd);

// "v1", "hybrid", "v2".
const char* LayoutName(linux::CgroupLayout layout);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CGROUP_DRIVER_H_
