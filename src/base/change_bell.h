// Notifies one listener that something has changed.
#ifndef PLIMSOLL_BASE_CHANGE_BELL_H_
#define PLIMSOLL_BASE_CHANGE_BELL_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll {

// Thread-safe. Rings are not kept: a listener looks once after Listen.
class ChangeBell {
 public:
  // Null: nobody listens. Once this has returned, the previous listener isn't called any more.
  void Listen(std::function<void()> listener) {
    absl::MutexLock lock(&mutex_);
    listener_ = std::move(listener);
  }
  // Calls the listener in this thread, possibly under locks of the caller: it must be quick and ask
  // nothing back.
  void Ring() const {
    absl::ReaderMutexLock lock(&mutex_);
    if (listener_) listener_();
  }

 private:
  mutable absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CHANGE_BELL_H_
