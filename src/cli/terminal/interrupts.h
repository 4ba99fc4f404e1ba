// Counts Ctrl-C instead of ending the program.
#ifndef PLIMSOLL_CLI_TERMINAL_INTERRUPTS_H_
#define PLIMSOLL_CLI_TERMINAL_INTERRUPTS_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::cli {

// While an object lives, SIGINT, SIGTERM and SIGHUP are counted and end nothing. Make it before any
// other thread: later threads inherit the signal mask.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int count() const { return count_.load(); }
  // From now on each interrupt calls `act` with the count, in a thread of this object. Null: no
  // call.
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

#endif  // PLIMSOLL_CLI_TERMINAL_INTERRUPTS_H_
