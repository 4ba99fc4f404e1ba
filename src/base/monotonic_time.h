// Deadlines that a jump of the wall clock neither brings nearer nor puts off.
//
//   const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
//   while (MonotonicNow() < deadline) ...
//
// absl's own timed waits (AwaitWithDeadline, WaitForNotificationWithDeadline) go by the wall clock:
// don't pass them such a deadline.
#ifndef PLIMSOLL_BASE_MONOTONIC_TIME_H_
#define PLIMSOLL_BASE_MONOTONIC_TIME_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll {

// The wall clock's time at this process's first call, plus the time CLOCK_MONOTONIC has counted
// since. For time limits only: after a jump of the wall clock it is no time of day. Thread-safe.
inline absl::Time MonotonicNow() {
  struct Start {
    absl::Time wall = absl::Now();
    std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  };
  static const Start start;
  return start.wall + absl::FromChrono(std::chrono::steady_clock::now() - start.steady);
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_MONOTONIC_TIME_H_
