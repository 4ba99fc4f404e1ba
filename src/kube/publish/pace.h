// Pauses between writes of one kind of object, and after failures.
#ifndef PLIMSOLL_KUBE_PUBLISH_PACE_H_
#define PLIMSOLL_KUBE_PUBLISH_PACE_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/retry_delay.h"
#include "base/steady_time.h"

namespace plimsoll::kube {

struct PaceOptions {
  absl::Duration rest = absl::Seconds(10);  // after a write
  // After failures that pass: the server is away, overloaded, or another writer came first.
  absl::Duration first_retry = absl::Seconds(1);
  absl::Duration longest_retry = absl::Minutes(2);
  // After a refusal (PERMISSION_DENIED, INVALID_ARGUMENT): an administrator has to do something.
  absl::Duration refused = absl::Minutes(10);
  // While the object can't be this program's (UNIMPLEMENTED, FAILED_PRECONDITION).
  absl::Duration absent = absl::Hours(1);
  // A number from 0 to 1; null: a random one. Every wait but `rest` is shortened by it, down to
  // half, so that many nodes don't come back at once.
  std::function<double()> jitter;
};

// Not thread-safe.
class Pace {
 public:
  explicit Pace(PaceOptions options);

  bool IsDue(SteadyTime now) const { return now >= next_; }
  // The moment from which it is due.
  SteadyTime next() const { return next_; }

  void Wrote(SteadyTime now);
  // Nothing was to be written.
  void Looked() { retry_.Reset(); }
  // The wait until the next attempt.
  absl::Duration Failed(const absl::Status& status, SteadyTime now);

 private:
  const PaceOptions options_;
  RetryDelay retry_;
  RetryDelay refused_;  // constant, as the next
  RetryDelay absent_;
  SteadyTime next_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_PACE_H_
