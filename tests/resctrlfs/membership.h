// Threads by group: the one thing that this program can't simulate, because forked children must
// inherit it.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_MEMBERSHIP_H_
#define PLIMSOLL_TESTS_RESCTRLFS_MEMBERSHIP_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "resctrlfs/command_status.h"

namespace plimsoll::resctrlfs {

// A control or monitoring group, whatever its name; never reused. 0 is the root group, which has
// every thread of the machine that no other group has.
using GroupId = uint64_t;
inline constexpr GroupId kRootGroup = 0;

class Membership {
 public:
  virtual ~Membership() = default;

  virtual Errno Add(GroupId group) = 0;
  // Gives the group's threads to `heir` first.
  virtual Errno Remove(GroupId group, GroupId heir) = 0;
  // Moves one thread. ESRCH when there is none.
  virtual Errno Move(pid_t thread, GroupId group) = 0;
  // Moves all threads of `from`, those forked meanwhile included.
  virtual Errno MoveAll(GroupId from, GroupId to) = 0;
  // nullopt when there is no such thread.
  virtual std::optional<GroupId> GroupOf(pid_t thread) = 0;
  // In no order.
  virtual std::vector<pid_t> Members(GroupId group) = 0;
  // The thread has just made a request, so its fork is over.
  virtual void SeenRunning(pid_t /*thread*/) {}
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_MEMBERSHIP_H_
