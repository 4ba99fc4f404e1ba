// News that a thread waits for, by the clock that nobody sets: absl's own timed waits go by the
// wall clock.
#ifndef PLIMSOLL_BASE_STEADY_NEWS_H_
#define PLIMSOLL_BASE_STEADY_NEWS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/steady_time.h"
#include "base/steady_wait.h"

namespace plimsoll {

//   for (;;) {
//     const uint64_t seen = news.count();  // before the look: a change after it is news
//     if (LooksAsItShould()) return;
//     news.Await(seen, deadline);
//   }
//
// Thread-safe.
class SteadyNews {
 public:
  void Tell() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    told_.notify_all();
  }
  uint64_t count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  // Returns once count() is above `seen`, or at `until`.
  void Await(uint64_t seen, SteadyTime until) const {
    std::unique_lock<std::mutex> lock(mutex_);
    while (count_ <= seen && SteadyNow() < until) AwaitChange(told_, lock, until);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable told_;
  uint64_t count_ = 0;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_STEADY_NEWS_H_
