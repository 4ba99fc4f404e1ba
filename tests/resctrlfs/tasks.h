// The file `tasks` of a group.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_TASKS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_TASKS_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"
#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

// The writer of a command.
struct Writer {
  pid_t thread = 0;
  uid_t uid = 0;
};

// Whether `uid` may move a thread: as root, or as the user that the thread runs as or was started
// as.
using MayMove = std::function<bool(uid_t uid, pid_t thread)>;

// Thread ids, one a line, ascending; a control group's include those of its monitoring groups. The
// kernel's order is that of its own list, which is nearly the same.
std::string ShowTasks(State* state, const Group& group);

// Moves the threads that `text` names, decimal, octal with "0" or hexadecimal with "0x", separated
// by commas, 0 for the writer. A refusal ends it, and earlier threads stay moved. EINVAL: no
// number, a negative one, or a monitoring group of a control group that the thread isn't in. ESRCH:
// no such thread. EPERM: another user's.
Errno WriteTasks(State* state, Group* group, absl::string_view text, const Writer& writer,
                 const MayMove& may_move);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_TASKS_H_
