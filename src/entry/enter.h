// The way of a command into a container.
#ifndef PLIMSOLL_ENTRY_ENTER_H_
#define PLIMSOLL_ENTRY_ENTER_H_

#include <sys/types.h>

#include "entry/plan.h"

namespace plimsoll::entry {

// In a process of its own, that the container doesn't see: enters groups, then namespaces, gives up
// what the command isn't to have and only then forks the process that the container sees. That one
// is a child of this one's parent (CLONE_PARENT), and its pid is in `*child`, which is in memory
// shared with the parent and not passed on.
[[noreturn]] void Enter(const Plan& plan, int report, pid_t* child);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_ENTRY_ENTER_H_
