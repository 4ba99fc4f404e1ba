// A program that a test looks at while it runs, through a pipe or on a terminal.
#ifndef PLIMSOLL_TESTS_HARNESS_WATCHED_PROGRAM_H_
#define PLIMSOLL_TESTS_HARNESS_WATCHED_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

// Both ends of a pipe, or a terminal's two sides.
struct Ends {
  UniqueFd here;
  UniqueFd there;  // the program's standard output and error, and of a terminal its input
};

Ends OpenPipe();
// 24 lines of so many columns. Fails the test where none can be had.
Ends OpenTerminal(uint16_t columns);

// Has printed something, and goes on; killed at the end if it still runs.
class WatchedProgram {
 public:
  WatchedProgram(std::vector<std::string> argv, Ends ends);
  ~WatchedProgram();

  // False if it has not come after a while.
  bool Await(const std::function<bool(const std::string& printed)>& enough);
  // On a terminal: as if somebody pressed these keys.
  void Type(absl::string_view keys);
  // Ctrl-C. The exit code; -1: it doesn't end.
  int Interrupt();
  // SIGKILL, and its end.
  void Kill();
  pid_t pid() const { return child_->pid(); }
  // The exit code of one that ends by itself; -1: it doesn't.
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
