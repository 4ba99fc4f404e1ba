// Deadlines that no jump of the wall clock brings nearer or puts off.
//
//   const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
//   while (MonotonicNow() < deadline) ...
//
// absl's own timed waits (AwaitWithDeadline, WaitForNotificationWithDeadline) go by the wall clock,
// and are not for such a moment.
#ifndef PLIMSOLL_BASE_MONOTONIC_TIME_H_
#define PLIMSOLL_BASE_MONOTONIC_TIME_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll {

// The wall clock's time when this process asked first, and what CLOCK_MONOTONIC has counted since.
// For limits of time only: after a jump it is no time of day any more. Thread-safe.
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
