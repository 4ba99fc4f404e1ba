// A condition variable's wait by the clock that nobody sets.
#ifndef PLIMSOLL_BASE_STEADY_WAIT_H_
#define PLIMSOLL_BASE_STEADY_WAIT_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/steady_time.h"

namespace plimsoll {

// Returns after a notification, at `end`, after a day, or spuriously: the caller checks again.
// std::condition_variable::wait, without a time, would need a libstdc++ of GCC 12 or later.
inline void AwaitChange(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                        SteadyTime end) {
  changed.wait_until(lock, std::min(end, SteadyNow() + std::chrono::hours(24)));
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_STEADY_WAIT_H_
