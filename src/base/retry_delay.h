// Waits that grow with each failure.
#ifndef PLIMSOLL_BASE_RETRY_DELAY_H_
#define PLIMSOLL_BASE_RETRY_DELAY_H_

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace plimsoll {

struct RetryDelayOptions {
  absl::Duration first = absl::Milliseconds(200);
  absl::Duration longest = absl::Seconds(10);
  // A number from 0 to 1. Null: a random one, so that the clients on many nodes don't come back at
  // once.
  std::function<double()> jitter;
};

// Not thread-safe.
class RetryDelay {
 public:
  explicit RetryDelay(RetryDelayOptions options)
      : options_(std::move(options)), next_(options_.first) {}

  // Half of the present wait, and a random part of the other half. The next wait is twice as long,
  // up to the longest.
  absl::Duration Next() {
    const absl::Duration wait = next_;
    next_ = std::min(next_ * 2, options_.longest);
    const double part = options_.jitter ? options_.jitter() : absl::Uniform(random_, 0.0, 1.0);
    return wait / 2 + wait / 2 * part;
  }
  // A success: the next wait is the first again.
  void Reset() { next_ = options_.first; }
  absl::Duration longest() const { return options_.longest; }

 private:
  const RetryDelayOptions options_;
  absl::Duration next_;
  absl::BitGen random_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_RETRY_DELAY_H_
