// Commands whose daemon has ended or stopped. A stopped daemon carries only those with open
// streams.
//
// Nobody waits for them or reads their output, so they are ended. A process of crun (or of
// plimsoll-launch on its way to becoming crun) carries a mark in its environment, which
// distinguishes it from any other crun on the machine; the command is below it. A process that a
// command without a timeout left in the background of a container with a PID namespace is the
// container's own by then. It stays, as it does when the call is merely cancelled.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_STRAYS_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_STRAYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"

namespace plimsoll::runtime {

struct ContainerGroup {
  std::string id;
  std::string cgroup_path;
};

// A command started by an Exec of a process that is gone, or the group that held one: exactly one
// of `process` and `group` is set.
struct StrayExec {
  std::string container_id;  // empty: unknown
  std::string command;       // for messages
  linux::ProcessId process;  // the OCI runtime's, above the command
  std::string container_group;
  std::string group;  // name below container_group
};

// The mark in the environment of every `crun exec`: "PLIMSOLL_EXEC=<crun's state directory>".
std::string ExecMark(const FsRoot& crun_state);
// Adds this process's id to a command whose streams this process carries. A later daemon knows by
// it that they are still carried.
void MarkCarrier(Command* command);

// Marked processes that are not below this one, except those whose carrier is their parent, and
// groups for commands in `containers`, except those of a container in which this process has a
// command under way (no command with streams has a group). Changes nothing.
absl::StatusOr<std::vector<StrayExec>> FindExecStrays(
    const FsRoot& host, linux::CgroupLayout layout, const FsRoot& crun_state,
    const std::vector<ContainerGroup>& containers);

// Kills the command and all that it started, and removes its group. DEADLINE_EXCEEDED. OK when it
// has ended already.
absl::Status EndExecStray(const FsRoot& host, linux::CgroupLayout layout, const StrayExec& stray,
                          absl::Time deadline);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_STRAYS_H_
