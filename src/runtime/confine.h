// A client's cpuset, held against what pods may use of the node now and what they might use before.
//
// Only what was never in any share is refused. A client goes on sending the CPUs that it was told
// of when it started (KEP-5224 "kubelet"): those that have gone since are taken away.
#ifndef PLIMSOLL_RUNTIME_CONFINE_H_
#define PLIMSOLL_RUNTIME_CONFINE_H_

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "runtime/node_share.h"

namespace plimsoll::runtime {

// For a new container or an update: members of `asked` that are absent are filled in only when
// `is_new`. `told` is all that ever was in a share. FAILED_PRECONDITION names what is outside and
// was never told, with kRefuse; also with kClip when nothing would be left. Where all has gone that
// was told, all of the share is given. Of a whole share's nothing is outside, it is only clipped.
// INVALID_ARGUMENT for lists that can't be read.
absl::StatusOr<Confined> Confine(const linux::CgroupSettings& asked, const NodeShare& share,
                                 const NodeShare& told, OutsideShare outside, bool is_new);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CONFINE_H_
