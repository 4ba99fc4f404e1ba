#ifndef PLIMSOLL_RUNTIME_KILL_TIMEOUT_H_
#define PLIMSOLL_RUNTIME_KILL_TIMEOUT_H_

#include "absl/time/time.h"

namespace plimsoll::runtime {

// How long the kernel and the monitor may take to end what SIGKILL was sent to.
constexpr absl::Duration kKillTimeout = absl::Seconds(20);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_KILL_TIMEOUT_H_
