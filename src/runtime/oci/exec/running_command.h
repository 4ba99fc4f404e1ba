// A command in a container whose streams somebody else carries.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

// Non-blocking. Streams that were not asked for are invalid. With a terminal, only `terminal` is
// valid, its master: read the command's output from it and write its input to it.
struct CommandStreams {
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;
  UniqueFd terminal;
};

struct CommandEnd {
  int exit_code = 0;
  // The reason why the command was never executed, a line for its caller (exit code 126 or 127).
  std::string message;
};

// Used by one thread at a time. Destruction kills a running command.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;

  // The caller may take and close them.
  virtual CommandStreams& streams() = 0;
  // Polls readable once the command has ended, even if others keep its streams open.
  virtual int ended_fd() const = 0;
  // The command's end; call it once, when `ended_fd` is readable. FAILED_PRECONDITION when the
  // container ended under it. May block for some milliseconds.
  virtual absl::StatusOr<CommandEnd> Finish() = 0;
  // Kills the command and all processes still below it. Blocks until they have ended, up to some
  // seconds.
  virtual absl::Status Kill() = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_RUNNING_COMMAND_H_
