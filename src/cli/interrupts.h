// Ctrl-C, counted rather than obeyed.
#ifndef PLIMSOLL_CLI_INTERRUPTS_H_
#define PLIMSOLL_CLI_INTERRUPTS_H_

#include <signal.h>

#include <atomic>
#include <thread>

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

 private:
  void Loop();

  sigset_t signals_;
  sigset_t before_;
  std::atomic<int> count_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_INTERRUPTS_H_
