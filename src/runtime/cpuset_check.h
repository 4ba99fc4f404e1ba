// Whether a cpuset can be given on this machine.
#ifndef PLIMSOLL_RUNTIME_CPUSET_CHECK_H_
#define PLIMSOLL_RUNTIME_CPUSET_CHECK_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "linux/cgroup/settings.h"
#include "runtime/node_share.h"

namespace plimsoll::runtime {

// INVALID_ARGUMENT for CPUs or memory nodes that are not online and not in `told` either, with
// those that are online: the kernel says "invalid argument" (v1) or quietly gives what is left of
// the list (v2). Lists that can't be read too; OK where the machine's own can't. `host` holds sys/.
absl::Status CheckCpuset(const FsRoot& host, const linux::CgroupSettings& settings,
                         const NodeShare& told = NodeShare());

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CPUSET_CHECK_H_
