// Files of /proc that LXCFS provides in a container, in place of the kernel's.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_LXCFS_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_LXCFS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::topology {

// True when LXCFS is mounted over that file ("/proc/cpuinfo"). Its content shows the container's
// cgroup limits: CPUs are renumbered from 0, MemTotal and SwapTotal are the limits (lxcfs(1)). An
// error is a passing one (machine_file.h).
absl::StatusOr<bool> IsByLxcfs(const FsRoot& root, absl::string_view file);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_LXCFS_H_
