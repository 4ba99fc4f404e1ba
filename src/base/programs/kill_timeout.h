// Time limits for a process's end after SIGKILL. Milliseconds as a rule; what sleeps in the kernel,
// on a disk or a network filesystem that doesn't answer, ends when that wakes it.
#ifndef PLIMSOLL_BASE_PROGRAMS_KILL_TIMEOUT_H_
#define PLIMSOLL_BASE_PROGRAMS_KILL_TIMEOUT_H_

#include "absl/time/time.h"

namespace plimsoll {

// Processes of a container, which may hold much memory and write to any filesystem; and the exit
// record that its monitor makes of it.
inline constexpr absl::Duration kKillTimeout = absl::Seconds(20);

// A helper program of Plimsoll's own (skopeo, a network plugin, a monitor).
inline constexpr absl::Duration kHelperKillTimeout = absl::Seconds(5);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_KILL_TIMEOUT_H_
