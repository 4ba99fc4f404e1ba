// The supervisor, which stays outside the container and waits for a command.
#ifndef PLIMSOLL_CONTAINER_ENTRY_SUPERVISE_H_
#define PLIMSOLL_CONTAINER_ENTRY_SUPERVISE_H_

#include "container_entry/plan.h"

namespace plimsoll::entry {

// Sends a process into the container and waits for the command that it starts. Returns the
// command's exit code, or 128 and the signal that ended it; 1 with a message in the log when it was
// not executed, kSilentEnd when a process was killed on the way.
int Supervise(const Plan& plan);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_SUPERVISE_H_
