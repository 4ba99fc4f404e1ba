// A controller's loop: one piece of work, run again whenever something may have changed.
//
//   Reconciler reconciler([&] { return PublishSlices(); }, {});
//   watched.on_change → reconciler.Wake()
#ifndef PLIMSOLL_KUBE_APISERVER_RECONCILER_H_
#define PLIMSOLL_KUBE_APISERVER_RECONCILER_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/retry_delay.h"

namespace plimsoll::kube {

struct ReconcilerOptions {
  // After a failure, until the next run.
  RetryDelayOptions retry = {
      .first = absl::Milliseconds(800), .longest = absl::Seconds(30), .jitter = {}};
  // After a success, before the next run: Wakes meanwhile become one.
  absl::Duration rest = absl::ZeroDuration();
  // A run without a Wake, so long after the last; each interval is shortened by up to a fifth, so
  // that nodes don't run in step. Infinite: none.
  absl::Duration every = absl::InfiniteDuration();
  // After each run, from the loop's thread.
  std::function<void(const absl::Status&)> on_result;
};

// Runs the work in a thread of its own, never twice at once: once after each Wake (many Wakes are
// one run, a Wake during a run is another one after it), and again after failures, with growing
// pauses, that a Wake doesn't shorten. A run that ends with CANCELLED is the last. Thread-safe.
class Reconciler {
 public:
  // The first run comes with the first Wake.
  Reconciler(std::function<absl::Status()> work, ReconcilerOptions options);
  // Waits for the run under way.
  ~Reconciler();
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  void Wake();

 private:
  void Run();
  // Waits for a Wake, for `every` at most. False: this is being destroyed.
  bool AwaitWork();
  bool Rest(absl::Duration wait);

  const std::function<absl::Status()> work_;
  const ReconcilerOptions options_;
  absl::Mutex mutex_;
  bool awake_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_RECONCILER_H_
