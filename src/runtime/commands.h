// What clients run in containers and connect to: commands, streams, ports, logs.
#ifndef PLIMSOLL_RUNTIME_COMMANDS_H_
#define PLIMSOLL_RUNTIME_COMMANDS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "runtime/oci/attached_container.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/exec/running_command.h"

namespace plimsoll::runtime {

// Thread-safe. Nothing here waits for an operation on the container; a command waits while a change
// of class has it frozen. Ids may be given as an unambiguous prefix; NOT_FOUND.
class Commands {
 public:
  virtual ~Commands() = default;

  // FAILED_PRECONDITION unless the container is Running, DEADLINE_EXCEEDED after the request's
  // timeout.
  virtual absl::StatusOr<ExecResult> ExecSync(absl::string_view id, const ExecRequest& request) = 0;
  // Starts a command whose streams the caller carries; `request` as of ExecSync, without a timeout.
  // This object must outlive the command.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(absl::string_view id,
                                                                    const ExecRequest& request) = 0;
  // The streams of the container's own process, from now on. `input`: with its standard input.
  // FAILED_PRECONDITION unless it is Created or Running, RESOURCE_EXHAUSTED when too many are
  // attached.
  virtual absl::StatusOr<AttachedContainer> Attach(absl::string_view id, bool input) = 0;
  // A TCP socket in the network of the pod, neither bound nor connected, non-blocking. `family`:
  // AF_INET or AF_INET6. FAILED_PRECONDITION unless the sandbox is Ready.
  virtual absl::StatusOr<UniqueFd> PodSocket(absl::string_view id, int family) = 0;
  // Has the monitor open the container's log anew. FAILED_PRECONDITION unless it is Running.
  virtual absl::Status ReopenLog(absl::string_view id) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_COMMANDS_H_
