// A command in a container whose streams somebody else carries.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

// Non-blocking. Those that were not asked for are invalid; with a terminal, all but `terminal`,
// which is its master: what the command writes is read there, and what it reads is written.
struct CommandStreams {
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;
  UniqueFd terminal;
};

struct CommandEnd {
  int exit_code = 0;
  // Why the command was never executed, a line for whoever asked for it (exit code 126 or 127).
  std::string message;
};

// Used by one thread at a time. One that is destroyed while it runs is killed.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;

  // For the caller to take and close.
  virtual CommandStreams& streams() = 0;
  // Polls readable once the command has ended, whoever it leaves behind with its streams.
  virtual int ended_fd() const = 0;
  // How it ended; once `ended_fd` is readable. Once. FAILED_PRECONDITION when the container ended
  // under it. May block for some milliseconds.
  virtual absl::StatusOr<CommandEnd> Finish() = 0;
  // With all that is still below it. Blocks until they have ended, up to some seconds.
  virtual absl::Status Kill() = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_
