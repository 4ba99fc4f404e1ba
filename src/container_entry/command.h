// The last steps of a command's process, visible to the container.
#ifndef PLIMSOLL_CONTAINER_ENTRY_COMMAND_H_
#define PLIMSOLL_CONTAINER_ENTRY_COMMAND_H_

#include "container_entry/credentials.h"
#include "container_entry/plan.h"
#include "container_entry/report.h"

namespace plimsoll::entry {

// Executes words[0], which is looked for in the environment's PATH unless it has a slash. Both
// lists are null-terminated. Returns on failure, with errno: kNotFound or kExecute.
Step Execute(char** words, char** environment);

// Becomes the command; this process must already have its user and capabilities. `terminal` -1: it
// has none. Fails through `report`, which is close-on-exec.
[[noreturn]] void Become(const Plan& plan, const Filter& filter, int terminal, int report);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_COMMAND_H_
