// Commands run in containers, and connections to them: streams, ports, logs.
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

// Thread-safe. No method waits for an operation on the container, but a command waits while a class
// change has the container frozen. An id may be any unambiguous prefix; NOT_FOUND for an unknown
// one.
class Commands {
 public:
  virtual ~Commands() = default;

  // Runs a command to its end. FAILED_PRECONDITION unless the container is Running,
  // DEADLINE_EXCEEDED after the request's timeout.
  virtual absl::StatusOr<ExecResult> ExecSync(absl::string_view id, const ExecRequest& request) = 0;
  // Starts a command whose streams the caller carries. Has no timeout. FAILED_PRECONDITION unless
  // the container is Running. The OCI runtime must outlive the command, this object need not.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(absl::string_view id,
                                                                    const ExecRequest& request) = 0;
  // The streams of the container's own process, from now on. `input`: also its standard input.
  // FAILED_PRECONDITION unless the container is Created or Running, RESOURCE_EXHAUSTED when too
  // many clients are attached.
  virtual absl::StatusOr<AttachedContainer> Attach(absl::string_view id, bool input) = 0;
  // A TCP socket in the network of the pod `id`, neither bound nor connected, non-blocking.
  // `family`: AF_INET or AF_INET6. FAILED_PRECONDITION unless the sandbox is Ready.
  virtual absl::StatusOr<UniqueFd> PodSocket(absl::string_view id, int family) = 0;
  // Makes the monitor reopen the container's log. FAILED_PRECONDITION unless the container is
  // Running.
  virtual absl::Status ReopenLog(absl::string_view id) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_COMMANDS_H_
