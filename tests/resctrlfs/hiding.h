// A simulation of the race between a fork and a move.
//
// In the kernel a child takes its parent's group early in fork(2) and can be listed and moved only
// at its end. A parent moved in between leaves a child in the old group, which shows up there a
// moment later. A cgroup never lets that happen, so it is simulated: a thread that a member of a
// group forks is hidden for a while and can't be moved: ESRCH, as for a missing thread. It is a
// member of the group in which it was forked all the same.
//
// A fork is over once the forking thread is frozen, so no thread of a frozen group is hidden; nor
// is a thread that has been moved or shown before, or that writes to a file here. The root group's
// are never hidden.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_HIDING_H_
#define PLIMSOLL_TESTS_RESCTRLFS_HIDING_H_

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "resctrlfs/membership.h"
#include "resctrlfs/threads.h"

namespace plimsoll::resctrlfs {

class HidingMembership : public Membership {
 public:
  // Hides no thread at first. Both must outlive it.
  HidingMembership(Membership* inner, const Threads* threads)
      : inner_(*inner), threads_(*threads) {}

  // From now on every thread is hidden until that age (in steps of 10 ms).
  void HideFor(absl::Duration age);
  // Hides threads forked from now on until ShowAll.
  void HideNew();
  void ShowAll();

  Errno Add(GroupId group) override;
  Errno Remove(GroupId group, GroupId heir) override;
  Errno Move(pid_t thread, GroupId group) override;
  Errno MoveAll(GroupId from, GroupId to) override;
  std::optional<GroupId> GroupOf(pid_t thread) override;
  std::vector<pid_t> Members(GroupId group) override;
  void SeenRunning(pid_t thread) override;
  // Members, hidden ones included.
  std::vector<pid_t> TrueMembers(GroupId group) { return inner_.Members(group); }

 private:
  using Key = std::pair<pid_t, uint64_t>;  // thread, start time

  bool IsHidden(pid_t thread, GroupId group);
  void MarkSeen(pid_t thread);
  void ForgetDead();

  Membership& inner_;
  const Threads& threads_;
  std::set<GroupId> groups_;  // without the root
  std::set<Key> seen_;
  std::optional<absl::Duration> hide_for_;  // infinite: all new ones
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_HIDING_H_
