// A question whose answer may take long, for callers that can't wait.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_SLOW_QUESTION_H_
#define PLIMSOLL_DAEMON_TELEMETRY_SLOW_QUESTION_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"

namespace plimsoll::daemon {

// Asked in a thread of its own, one at a time. Thread-safe. The destructor waits for a question
// under way.
class SlowQuestion {
 public:
  // `what` begins the error for an unanswered question: "<what> for 5s".
  SlowQuestion(std::string what, std::function<absl::Status()> ask, absl::Duration patience)
      : what_(std::move(what)), ask_(std::move(ask)), patience_(patience) {}

  // The answer to a new question, or to the one under way. UNAVAILABLE after the patience: the
  // question stays under way, and a later caller may get its answer.
  absl::Status Ask();

 private:
  void Run();

  const std::string what_;
  const std::function<absl::Status()> ask_;
  const absl::Duration patience_;
  absl::Mutex mutex_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time since_ ABSL_GUARDED_BY(mutex_);  // start of the question under way
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  // Last member: its thread must end before what it uses.
  WorkerPool pool_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_SLOW_QUESTION_H_
