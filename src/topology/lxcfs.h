// Files of /proc that LXCFS tells in a container, in place of the kernel's.
#ifndef PLIMSOLL_TOPOLOGY_LXCFS_H_
#define PLIMSOLL_TOPOLOGY_LXCFS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::topology {

// Whether LXCFS is mounted over that file ("/proc/cpuinfo"). It tells what the container's cgroups
// leave: CPUs are numbered anew from 0, MemTotal and SwapTotal are its limits (lxcfs(1)). An error
// is a passing one (machine_file.h).
absl::StatusOr<bool> IsByLxcfs(const FsRoot& root, absl::string_view file);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_LXCFS_H_
