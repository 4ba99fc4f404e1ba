// A question whose answer may take long, for callers that can't wait.
#ifndef PLIMSOLL_DAEMON_SLOW_QUESTION_H_
#define PLIMSOLL_DAEMON_SLOW_QUESTION_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"

namespace plimsoll::daemon {

// Asked in a thread of its own, by one at a time. Thread-safe. The destructor waits for a question
// that is under way.
class SlowQuestion {
 public:
  // `what` is for the error of a question that isn't answered in time: "<what> for 5s".
  SlowQuestion(std::string what, std::function<absl::Status()> ask, absl::Duration patience)
      : what_(std::move(what)), ask_(std::move(ask)), patience_(patience) {}

  // The answer to a question asked now, or to one that was under way. UNAVAILABLE when that takes
  // longer than the patience: the question stays under way, and the next caller may have its
  // answer.
  absl::Status Ask();

 private:
  void Run();

  const std::string what_;
  const std::function<absl::Status()> ask_;
  const absl::Duration patience_;
  absl::Mutex mutex_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time since_ ABSL_GUARDED_BY(mutex_);  // of the question under way
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  // Last, so that its thread ends before what it uses.
  WorkerPool pool_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_SLOW_QUESTION_H_
