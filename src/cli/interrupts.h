// Ctrl-C, counted rather than obeyed.
#ifndef PLIMSOLL_CLI_INTERRUPTS_H_
#define PLIMSOLL_CLI_INTERRUPTS_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::cli {

// While one lives, SIGINT, SIGTERM and SIGHUP end nothing and are counted. Make it before any other
// thread: threads made later inherit the signal mask.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int count() const { return count_.load(); }
  // Called with the count at each one from now on, in a thread of this one's own. Null: nothing.
  void OnInterrupt(std::function<void(int)> act);

 private:
  void Loop();

  sigset_t signals_;
  sigset_t before_;
  std::atomic<int> count_ = 0;
  absl::Mutex mutex_;
  std::function<void(int)> act_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_INTERRUPTS_H_
