#include "base/programs/cancellation.h"

#include <sys/eventfd.h>

namespace plimsoll {

void Cancellation::Cancel() {
  absl::MutexLock lock(&mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  if (event_.valid()) eventfd_write(event_.get(), 1);
}

bool Cancellation::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

int Cancellation::fd() {
  absl::MutexLock lock(&mutex_);
  if (!event_.valid()) event_.Reset(eventfd(cancelled_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  return event_.get();
}

}  // namespace plimsoll
