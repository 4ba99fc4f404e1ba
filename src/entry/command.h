// The last steps of a command's process, visible to the container.
#ifndef PLIMSOLL_ENTRY_COMMAND_H_
#define PLIMSOLL_ENTRY_COMMAND_H_

#include "entry/credentials.h"
#include "entry/plan.h"

namespace plimsoll::entry {

// Becomes the command; this process must already have its user and capabilities. `terminal` -1: it
// has none. Fails through `report`, which is close-on-exec.
[[noreturn]] void Become(const Plan& plan, const Filter& filter, int terminal, int report);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_ENTRY_COMMAND_H_
