// A flag that says nobody waits for a result any more.
#ifndef PLIMSOLL_BASE_PROGRAMS_CANCELLATION_H_
#define PLIMSOLL_BASE_PROGRAMS_CANCELLATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace plimsoll {

// The asker sets it, the worker looks at it. Thread-safe.
class Cancellation {
 public:
  // Holds for good; calling it again changes nothing.
  void Cancel();
  bool cancelled() const;
  // A descriptor that polls readable from Cancel on, and lives as long as this. It is made at the
  // first call; -1, which poll(2) passes over, when the process has no descriptor left.
  int fd();

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  UniqueFd event_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_CANCELLATION_H_
