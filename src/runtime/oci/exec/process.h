// The process description for an exec.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_PROCESS_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// The input of the OCI runtime's `exec --process`: the process of `config`, a container's
// config.json, with another command. All else is the container's: user and groups, capabilities,
// no_new_privs, labels, directory and environment; given a command alone, crun 1.8 leaves out
// supplemental groups and no_new_privs. Resource limits and oom_score_adj are not in it: the caller
// sets them. `terminal` decides whether the command gets one (crun ignores its own option of that
// name then), and gives it TERM=xterm where its environment has no TERM. DATA_LOSS when `config` is
// invalid.
absl::StatusOr<std::string> ExecProcess(absl::string_view config,
                                        const std::vector<std::string>& argv, bool terminal);

// The limits of that process which differ from this process's own, as plans have them: "7:100:200".
// For a command by the OCI runtime, which inherits them: crun 1.8's exec ignores the container's.
// That of descriptors is always there, as a plan may have another one for those ("nofile").
std::vector<std::string> ExecLimits(absl::string_view config);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_PROCESS_H_
