// The processes of a group, each pinned, so that a signal reaches none that isn't in it.
#ifndef PLIMSOLL_LINUX_CGROUP_PINNED_MEMBERS_H_
#define PLIMSOLL_LINUX_CGROUP_PINNED_MEMBERS_H_

#include <sys/types.h>

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

struct Member {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// A pid may be given to another process between being listed and being opened. So the group is
// listed again afterwards: a pid that is in it then is either the process that was opened or
// belongs to a later one, in which case the one opened is dead and can't be hit. `list`: the pids
// of the group now, called twice; its errors are passed on. Where descriptors run out, those that
// could be opened.
absl::StatusOr<std::vector<Member>> PinMembers(
    absl::FunctionRef<absl::StatusOr<std::vector<pid_t>>()> list);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_PINNED_MEMBERS_H_
