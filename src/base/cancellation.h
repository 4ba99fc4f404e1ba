// Word that nobody waits for a result any more.
#ifndef PLIMSOLL_BASE_CANCELLATION_H_
#define PLIMSOLL_BASE_CANCELLATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Given by whoever asked, looked at by whoever works. Thread-safe.
class Cancellation {
 public:
  // For good; calling it again changes nothing.
  void Cancel();
  bool cancelled() const;
  // Polls readable from Cancel on, and lives as long as this. Made when it is first asked for; -1,
  // which poll(2) passes over, when the process has no descriptor left.
  int fd();

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  UniqueFd event_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CANCELLATION_H_
