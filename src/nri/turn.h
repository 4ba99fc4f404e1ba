// The turn: one hook at a time on the node, first come, first served.
#ifndef PLIMSOLL_NRI_TURN_H_
#define PLIMSOLL_NRI_TURN_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::nri {

// A fair lock. absl::Mutex is none: under load it may pass over a waiter for long. Thread-safe.
class ABSL_LOCKABLE Turn {
 public:
  void Take() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    absl::MutexLock lock(&mutex_);
    const uint64_t mine = next_++;
    while (serving_ != mine) given_.Wait(&mutex_);
  }
  void Give() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    absl::MutexLock lock(&mutex_);
    ++serving_;
    given_.SignalAll();
  }
  // The number of those that wait or have the turn.
  uint64_t waiting() const {
    absl::MutexLock lock(&mutex_);
    return next_ - serving_;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::CondVar given_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t serving_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ABSL_SCOPED_LOCKABLE TurnHolder {
 public:
  explicit TurnHolder(Turn* turn) ABSL_EXCLUSIVE_LOCK_FUNCTION(turn) : turn_(turn) {
    turn_->Take();
  }
  ~TurnHolder() ABSL_UNLOCK_FUNCTION() { turn_->Give(); }
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  Turn* const turn_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TURN_H_
