// The processes of a group, each pinned by a pidfd, so that a signal reaches no others.
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

// Opens a pidfd for each process of a group. A pid may change hands between listing and opening, so
// the group is listed again afterwards: a pid that is in it then belongs to the opened process, or
// to a later one; in that case the opened process is dead and can't be hit. `list`: returns the
// group's pids now, called twice; its errors are passed on. When descriptors run out, returns those
// opened so far.
absl::StatusOr<std::vector<Member>> PinMembers(
    absl::FunctionRef<absl::StatusOr<std::vector<pid_t>>()> list);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_PINNED_MEMBERS_H_
