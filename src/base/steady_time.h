// Moments of a clock that nobody sets: for time limits, which a jump of the wall clock must neither
// end nor prolong.
#ifndef PLIMSOLL_BASE_STEADY_TIME_H_
#define PLIMSOLL_BASE_STEADY_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace plimsoll {

using SteadyTime = std::chrono::steady_clock::time_point;

inline constexpr SteadyTime kNever = SteadyTime::max();

inline SteadyTime SteadyNow() {
  return std::chrono::steady_clock::now();
}

// The moment after `wait` from now; kNever where the clock can't express it.
inline SteadyTime SteadyAfter(absl::Duration wait) {
  const SteadyTime now = SteadyNow();
  if (wait >= absl::FromChrono(kNever - now)) return kNever;
  return now + absl::ToChronoNanoseconds(wait);
}

// Negative once it has passed.
inline absl::Duration TimeUntil(SteadyTime end) {
  return end == kNever ? absl::InfiniteDuration() : absl::FromChrono(end - SteadyNow());
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_STEADY_TIME_H_
