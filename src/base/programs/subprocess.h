// Runs other programs. The only place that starts a process and the only one that waits for one.
//
//   Command command;
//   command.argv = {"/usr/bin/skopeo", "--version"};
//   PLIMSOLL_ASSIGN_OR_RETURN(RunResult result, RunProgram(command, {.timeout =
//   absl::Seconds(10)}));
//
// No shell is ever involved. A child gets exactly the descriptors that Command names, no signal
// mask and default signal actions. All functions are thread-safe.
//
// From the first Spawn on, one thread owns waitpid for the whole process. It also reaps processes
// that were re-parented to this one (a daemon that is a child subreaper, see BecomeChildSubreaper);
// nothing else in the process may wait for children.
#ifndef PLIMSOLL_BASE_PROGRAMS_SUBPROCESS_H_
#define PLIMSOLL_BASE_PROGRAMS_SUBPROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/programs/cancellation.h"
#include "base/unique_fd.h"

namespace plimsoll {

struct Command {
  std::vector<std::string> argv;  // argv[0] as the program sees it
  std::string executable;         // absolute path to run; empty: argv[0]
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  // (descriptor in this process, descriptor number in the child). 0, 1 and 2 are a null device of
  // the child's own (OpenNullDevice) unless named.
  std::vector<std::pair<int, int>> descriptors;
  std::string working_directory;  // empty: this process's
  bool new_session = false;       // setsid(2)
};

struct ExitStatus {
  int code = 0;    // exit code, or 128 + signal
  int signal = 0;  // 0 unless killed by a signal
  bool success() const { return code == 0; }
  std::string ToString() const;  // "exit code 1", "killed by signal 9 (Killed)"
};

// A started process. Destroying a Child neither kills nor waits: the reaper collects it anyway.
class Child {
 public:
  pid_t pid() const { return pid_; }
  // A pidfd: polls readable once the process has exited. Owned by the Child.
  int pidfd() const { return pidfd_.get(); }
  // DEADLINE_EXCEEDED if the process still runs at the deadline.
  absl::StatusOr<ExitStatus> Wait(absl::Time deadline = absl::InfiniteFuture());
  // NOT_FOUND when the process has exited. `group`: its whole process group (with
  // Command::new_session).
  absl::Status Signal(int signal, bool group = false);
  // Sends SIGKILL to its process group (with Command::new_session) and waits for its end.
  // DEADLINE_EXCEEDED if it still runs at the deadline: in uninterruptible sleep (a mount whose
  // server is gone, a failing disk) a process doesn't see the signal. The reaper collects it if it
  // ever ends.
  absl::Status KillGroup(absl::Time deadline);

  struct Shared;  // the reaper's half

 private:
  friend absl::StatusOr<Child> Spawn(const Command& command);
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::shared_ptr<Shared> shared_;
};

// NOT_FOUND when the program doesn't exist.
absl::StatusOr<Child> Spawn(const Command& command);

struct RunLimits {
  absl::Duration timeout = absl::Seconds(60);
  size_t max_output_bytes = 1024 * 1024;  // of each stream; the rest is read and dropped
  std::string input;                      // written to standard input
  Cancellation* cancellation = nullptr;   // ends the run early; null: never
};

struct RunResult {
  ExitStatus exit;
  std::string out;
  std::string err;
  bool truncated = false;
};

// Runs a program to its end and collects both outputs. DEADLINE_EXCEEDED after the timeout,
// CANCELLED when cancelled: both kill the process group, and the message says so if that doesn't
// end it within some seconds. A non-zero exit is a result, not an error.
absl::StatusOr<RunResult> RunProgram(Command command, const RunLimits& limits = {});

// Runs like RunProgram, but a failed exit is an error: "<argv[0]>: <exit>: <last lines of stderr>".
absl::StatusOr<std::string> RunChecked(Command command, const RunLimits& limits = {});

// The path of a program in PATH or the usual system directories; NOT_FOUND names the program and
// the directories searched.
absl::StatusOr<std::string> FindProgram(absl::string_view name);

// From now on, orphaned descendants are re-parented to this process, which reaps them.
absl::Status BecomeChildSubreaper();

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_SUBPROCESS_H_
