// The end of commands that only print, once nobody reads what they print.
#ifndef PLIMSOLL_CLI_READER_WATCH_H_
#define PLIMSOLL_CLI_READER_WATCH_H_

#include <thread>

#include "base/unique_fd.h"

namespace plimsoll::cli {

// As a shell tells of a program that SIGPIPE has ended.
inline constexpr int kExitNoReader = 141;

// While one lives, the process ends when standard output takes nothing more. When the pipe's reader
// has gone, the end is silent and has kExitNoReader; it comes while nothing is printed too, as of
// `tail -f`. After another error (a full disk) the end has kExitError and names the error. No
// destructor runs: for commands that change nothing. At most one at a time; after Interrupts, whose
// signal mask its thread must have.
class ReaderWatch {
 public:
  ReaderWatch();
  ~ReaderWatch();
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;

 private:
  void Loop() const;

  UniqueFd end_;  // an eventfd that the thread's end is written to
  std::thread thread_;
};

// A write to standard output has failed with this errno. Doesn't return while a ReaderWatch lives.
void OnFailedPrint(int error);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_READER_WATCH_H_
