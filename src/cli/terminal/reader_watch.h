// Ends commands that only print when the reader of their output has left.
#ifndef PLIMSOLL_CLI_TERMINAL_READER_WATCH_H_
#define PLIMSOLL_CLI_TERMINAL_READER_WATCH_H_

#include <thread>

#include "base/unique_fd.h"

namespace plimsoll::cli {

// The shell's exit code for a program that SIGPIPE ended.
inline constexpr int kExitNoReader = 141;

// While an object lives, the process ends when standard output takes no more. Without a reader of
// the pipe it ends silently with kExitNoReader, also while nothing is printed, as under `tail -f`.
// After another error (a full disk) it ends with kExitError and names the error. No destructor
// runs: for commands that change nothing. At most one object at a time; make it after Interrupts,
// whose signal mask its thread needs.
class ReaderWatch {
 public:
  ReaderWatch();
  ~ReaderWatch();
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;

 private:
  void Loop() const;

  UniqueFd end_;  // an eventfd that ends the thread
  std::thread thread_;
};

// A write to standard output failed with this errno. Doesn't return while a ReaderWatch lives.
void OnFailedPrint(int error);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_READER_WATCH_H_
