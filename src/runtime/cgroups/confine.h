// The part of a client's cpuset that lies in the node share of pods, now or earlier.
//
// Only CPUs and memory nodes that were never in any share are refused. A client goes on sending the
// CPUs that it was told of when it started (KEP-5224 "kubelet"): those that left the share since
// are taken away.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_CONFINE_H_
#define PLIMSOLL_RUNTIME_CGROUPS_CONFINE_H_

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "runtime/cgroups/node_share.h"

namespace plimsoll::runtime {

// The cpuset for a new container or an update. Members of `asked` that are absent are filled in
// only when `is_new`. `told`: the sum of all shares so far. FAILED_PRECONDITION names the CPUs or
// memory nodes outside both `share` and `told`: with kRefuse if there are any, with kClip if the
// list has no others. If every other one has left the share since it was told, the whole share is
// given. A share that is the whole node clips and never refuses. INVALID_ARGUMENT for lists that
// can't be parsed.
absl::StatusOr<Confined> Confine(const linux::CgroupSettings& asked, const NodeShare& share,
                                 const NodeShare& told, OutsideShare outside, bool is_new);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_CONFINE_H_
