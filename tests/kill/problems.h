// Problems found, from any thread.
#ifndef PLIMSOLL_TESTS_KILL_PROBLEMS_H_
#define PLIMSOLL_TESTS_KILL_PROBLEMS_H_

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::testing {

// Thread-safe. Prints each problem at once.
class Problems {
 public:
  void Add(const std::string& text) {
    absl::MutexLock lock(&mutex_);
    std::printf("FAULT in round %d: %s\n", round_, text.c_str());
    std::fflush(stdout);
    ++count_;
  }
  void set_round(int round) {
    absl::MutexLock lock(&mutex_);
    round_ = round;
  }
  int count() const {
    absl::MutexLock lock(&mutex_);
    return count_;
  }

 private:
  mutable absl::Mutex mutex_;
  int round_ ABSL_GUARDED_BY(mutex_) = 0;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_PROBLEMS_H_
