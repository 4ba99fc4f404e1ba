// Membership kept by the kernel: a group of a cgroup hierarchy stands for each group.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CGROUP_MEMBERSHIP_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CGROUP_MEMBERSHIP_H_

#include <utility>

#include "resctrlfs/hierarchy.h"
#include "resctrlfs/membership.h"
#include "resctrlfs/threads.h"

namespace plimsoll::resctrlfs {

// Differences from resctrl: a process that has ended and was not waited for is in no group (resctrl
// goes on listing it), kernel threads bound to a CPU can't be moved, and a fork and a move never
// happen at the same time (hiding.h makes up for that).
class CgroupMembership : public Membership {
 public:
  // `threads` must outlive it.
  CgroupMembership(Hierarchy hierarchy, const Threads* threads)
      : hierarchy_(std::move(hierarchy)), threads_(*threads) {}

  Errno Add(GroupId group) override;
  Errno Remove(GroupId group, GroupId heir) override;
  Errno Move(pid_t thread, GroupId group) override;
  Errno MoveAll(GroupId from, GroupId to) override;
  std::optional<GroupId> GroupOf(pid_t thread) override;
  std::vector<pid_t> Members(GroupId group) override;

 private:
  const Hierarchy hierarchy_;
  const Threads& threads_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CGROUP_MEMBERSHIP_H_
