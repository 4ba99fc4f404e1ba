// Commands in a running container, synchronously.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_RUN_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_RUN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/oci/exec/command.h"
#include "runtime/oci/exec/request.h"

namespace plimsoll::runtime {

// Runs `request` with crun, without a monitor. Standard input is /dev/null. The call ends when the
// command does, even if a process that it started in the background holds its output open. A stream
// longer than allowed is cut and ends in a line that says so (captured_output.h). A missing command
// gives exit code 127, one that can't be executed 126, each with a message in `err`, as in a shell.
// CANCELLED when the request's cancellation says so, with the command killed. FAILED_PRECONDITION
// when the container doesn't run, ABORTED while it is frozen: then nothing was started, and the
// call can be repeated.
absl::StatusOr<ExecResult> ExecInContainer(const ExecTools& tools, absl::string_view id,
                                           absl::string_view cgroup_path,
                                           const ExecRequest& request);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_RUN_H_
