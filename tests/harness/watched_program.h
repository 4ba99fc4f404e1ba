// A program that a test observes while it runs, through a pipe or on a terminal.
#ifndef PLIMSOLL_TESTS_HARNESS_WATCHED_PROGRAM_H_
#define PLIMSOLL_TESTS_HARNESS_WATCHED_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

// Both ends of a pipe, or a terminal's two sides.
struct Ends {
  UniqueFd here;
  UniqueFd there;  // the program's standard output and error, and of a terminal its input
};

Ends OpenPipe();
// A terminal of 24 lines and so many columns. Fails the test where none can be had.
Ends OpenTerminal(uint16_t columns);

// A running program and its output so far; killed at the end if it still runs.
class WatchedProgram {
 public:
  WatchedProgram(std::vector<std::string> argv, Ends ends);
  ~WatchedProgram();

  // Waits until the output is enough. False if that takes too long.
  bool Await(const std::function<bool(const std::string& printed)>& enough);
  // Types keys on a terminal.
  void Type(absl::string_view keys);
  // Ctrl-C. Returns the exit code; -1: it doesn't end.
  int Interrupt();
  // Sends SIGKILL and waits for the end.
  void Kill();
  pid_t pid() const { return child_->pid(); }
  // The exit code after it ends by itself; -1: it doesn't.
  int AwaitEnd();
  const std::string& printed() const { return printed_; }
  void Forget() { printed_.clear(); }

 private:
  void Read();

  UniqueFd here_;
  std::optional<Child> child_;
  std::string printed_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_WATCHED_PROGRAM_H_
