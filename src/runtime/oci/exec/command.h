// The process by which a command enters a container: plimsoll-exec where possible, else crun, or
// plimsoll-launch, which does preparations and becomes crun.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "container_entry/protocol.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/crun/other_program.h"
#include "runtime/oci/exec/descriptor_limit.h"
#include "runtime/oci/exec/entry.h"
#include "runtime/oci/exec/group.h"
#include "runtime/oci/exec/request.h"

namespace plimsoll::runtime {

class DirectExec;  // runtime/oci/exec/direct.h

// Pointees must outlive the call.
struct ExecTools {
  const Crun* crun = nullptr;
  std::string launcher;
  FsRoot host;
  linux::CgroupLayout layout = linux::CgroupLayout::kV2;
  int cancel_fd = -1;                     // readable: end the call with UNAVAILABLE
  EnteringProcesses* entering = nullptr;  // gets the call's process, until it ends; may be null
  std::optional<DescriptorLimit> descriptor_limit;  // nullopt: this process's own
  DirectExec* direct = nullptr;                     // null: all commands enter by crun
  std::optional<OtherProgram> other;                // the container's runtime, if it isn't crun
};

// Descriptors that the starter of an exec keeps.
struct ExecDescriptors {
  UniqueFd plan;  // memfds
  UniqueFd log;
  UniqueFd process;
  UniqueFd init;    // pidfd
  UniqueFd filter;  // seccomp's
  LaunchSignal entered;
  bool direct = false;    // by plimsoll-exec
  bool terminal = false;  // the command gets one
  // Name in the working directory of the socket to which the command's terminal is sent. Empty: to
  // none; without a terminal, or where the runtime copies between it and its own standard streams.
  std::string console;

  // The message of plimsoll-exec or crun, once it has ended; empty: none.
  std::string RuntimeMessage() const;
};

// Exit code of crun, and of plimsoll-exec, when its own part is killed.
inline constexpr int kSilentExecFailure = entry::kSilentEnd;

// The command without streams and working directory. ABORTED: the container is frozen (crun says so
// itself).
absl::StatusOr<Command> MakeExecCommand(const ExecTools& tools, absl::string_view id,
                                        absl::string_view cgroup_path, const ExecRequest& request,
                                        const std::optional<ExecGroup>& group,
                                        ExecDescriptors* own);

// Kills the started process and every process in the group or still below it. An error names the
// survivors.
absl::Status KillExec(const ExecTools& tools, absl::string_view cgroup_path,
                      const std::optional<ExecGroup>& group, Child* child);

// The descriptor by which MakeExecCommand's program reads the text.
absl::StatusOr<UniqueFd> MakeMemfd(const char* name, const std::string& text);

// Whether SIGKILL must wait: a process frozen by cgroup v1 ends only once it is thawed; v2's
// freezer lets the signal through.
bool IsFrozen(const ExecTools& tools, absl::string_view cgroup_path);

// Translates a failure's message: into a result (exit code 126 or 127) if it is about the program,
// else into an error. ABORTED: the container is frozen, or plimsoll-exec can't enter it and crun
// will be used the next time.
absl::StatusOr<ExecResult> TranslateExecFailure(const ExecTools& tools, const std::string& message,
                                                const ExecRequest& request, absl::string_view id);

// The container's own reason for an unexplained failure of an exec: FAILED_PRECONDITION when crun's
// record of it is damaged, or it has ended or is about to (crun reports a failure before the kernel
// is done with the container). `message`: crun's, may be empty.
absl::Status CheckContainer(const ExecTools& tools, absl::string_view id,
                            const ExecRequest& request, absl::string_view message);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_
