// The manager of control groups: this daemon alone, or systemd with it.
#ifndef PLIMSOLL_DAEMON_CGROUP_DRIVER_H_
#define PLIMSOLL_DAEMON_CGROUP_DRIVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "daemon/config/config.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::daemon {

struct CgroupSetup {
  std::unique_ptr<linux::CgroupManager> cgroups;
  // From its return on, values that systemd writes stay as they are: another daemon sets them.
  std::function<void()> stop_following = [] {};
  bool systemd = false;    // the driver kubelet is to use
  std::string pod_parent;  // group of pods without a parent of their own
  std::string monitors;    // monitors' group; empty: the daemon's own
  std::string own;         // the daemon's, if monitors have another
  std::string warning;     // for the log; empty: none
};

// The driver that the configuration asks for. FAILED_PRECONDITION if it asks for systemd, which
// isn't usable here.
absl::StatusOr<CgroupSetup> OpenCgroupDriver(const FsRoot& host, const Config& config,
                                             bool standalone);

// True if the driver would be systemd. `auto` means systemd if it runs the machine, with cgroup v2
// alone, its bus there and cgroup_parent fit for a slice; never in a standalone daemon.
bool WantsSystemd(const FsRoot& host, const Config& config, linux::CgroupLayout layout,
                  bool standalone);

// The checks of OpenCgroupDriver that don't need the machine.
absl::Status CheckCgroupDriver(const Config& config);

// CgroupSetup::pod_parent. INVALID_ARGUMENT if it must be a slice and can't.
absl::StatusOr<std::string> PodParent(const Config& config, bool systemd);

// "v1", "hybrid", "v2".
const char* LayoutName(linux::CgroupLayout layout);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CGROUP_DRIVER_H_
