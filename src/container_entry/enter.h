// The way of a command into a container.
#ifndef PLIMSOLL_CONTAINER_ENTRY_ENTER_H_
#define PLIMSOLL_CONTAINER_ENTRY_ENTER_H_

#include <sys/types.h>

#include "container_entry/plan.h"

namespace plimsoll::entry {

// Runs in a process that the container doesn't see: enters groups, then namespaces, and drops all
// that the command must not have. Only then it forks the process that the container sees, as a
// child of this one's parent (CLONE_PARENT). The child's pid is in `*child`, in memory that is
// shared with the parent but not with the child.
[[noreturn]] void Enter(const Plan& plan, int report, pid_t* child);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_ENTER_H_
