// The process by which a command enters a container: plimsoll-exec where that can do it, else crun,
// and where something has to be done first plimsoll-launch, which becomes crun.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "entry/protocol.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/exec/descriptor_limit.h"
#include "runtime/oci/exec/entry.h"
#include "runtime/oci/exec/group.h"
#include "runtime/oci/exec/request.h"

namespace plimsoll::runtime {

class DirectExec;  // runtime/oci/exec/direct.h

// What is pointed to must outlive the call.
struct ExecTools {
  const Crun* crun = nullptr;
  std::string launcher;
  FsRoot host;
  linux::CgroupLayout layout = linux::CgroupLayout::kV2;
  int cancel_fd = -1;                     // readable: end the call with UNAVAILABLE
  EnteringProcesses* entering = nullptr;  // gets the call's process, until it ends; may be null
  std::optional<DescriptorLimit> descriptor_limit;  // nullopt: this process's own
  DirectExec* direct = nullptr;                     // null: all commands enter by crun
};

// What its starter keeps of it.
struct ExecDescriptors {
  UniqueFd plan;  // memfds
  UniqueFd log;
  UniqueFd process;
  UniqueFd init;    // pidfd
  UniqueFd filter;  // seccomp's
  LaunchSignal entered;
  bool direct = false;  // by plimsoll-exec
  // Name in the working directory of a socket to which the command's terminal is sent. Empty: it
  // has none.
  std::string console;

  // Its own words, or crun's, once it has ended; empty: it had none.
  std::string RuntimeMessage() const;
};

// crun's exit code when its own part of it is killed, and plimsoll-exec's.
inline constexpr int kSilentExecFailure = entry::kSilentEnd;

// All but the streams and the working directory. ABORTED: the container is frozen (crun says so
// itself).
absl::StatusOr<Command> MakeExecCommand(const ExecTools& tools, absl::string_view id,
                                        absl::string_view cgroup_path, const ExecRequest& request,
                                        const std::optional<ExecGroup>& group,
                                        ExecDescriptors* own);

// Kills what was started, with all that is in the group or still below it. An error says what
// survives.
absl::Status KillExec(const ExecTools& tools, absl::string_view cgroup_path,
                      const std::optional<ExecGroup>& group, Child* child);

// The descriptors that MakeExecCommand's program has for the text.
absl::StatusOr<UniqueFd> MakeMemfd(const char* name, const std::string& text);

// SIGKILL ends what cgroup v1 has frozen only when it goes on; v2's freezer lets it through.
bool IsFrozen(const ExecTools& tools, absl::string_view cgroup_path);

// What the message of a failure means: a result (exit code 126 or 127) where it is of the program,
// else an error. ABORTED: the container is frozen, or plimsoll-exec can't enter it and crun will be
// asked the next time.
absl::StatusOr<ExecResult> TranslateExecFailure(const ExecTools& tools, const std::string& message,
                                                const ExecRequest& request, absl::string_view id);

// What is the matter with the container when an exec failed for no reason of its own:
// FAILED_PRECONDITION when crun's record of it is damaged, or it has ended or is about to (crun
// tells of a failure before the kernel is done with the container under it). `message`: crun's, may
// be empty.
absl::Status CheckContainer(const ExecTools& tools, absl::string_view id,
                            const ExecRequest& request, absl::string_view message);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_COMMAND_H_
