// Check of a cpuset against the CPUs and memory nodes of this machine.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_CPUSET_CHECK_H_
#define PLIMSOLL_RUNTIME_CGROUPS_CPUSET_CHECK_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "linux/cgroup/settings.h"
#include "runtime/cgroups/node_share.h"

namespace plimsoll::runtime {

// INVALID_ARGUMENT if the settings' cpuset has CPUs or memory nodes that are neither online nor in
// `told`; the message names those online. The kernel says "invalid argument" (v1) or silently drops
// them (v2). INVALID_ARGUMENT also for a list that can't be parsed. OK if the machine's own lists
// can't be read. `host` holds sys/.
absl::Status CheckCpuset(const FsRoot& host, const linux::CgroupSettings& settings,
                         const NodeShare& told = NodeShare());

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_CPUSET_CHECK_H_
