// Commands in a running container whose streams the caller carries.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_STREAM_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_STREAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "runtime/oci/exec/command.h"
#include "runtime/oci/exec/request.h"
#include "runtime/oci/exec/running_command.h"

namespace plimsoll::runtime {

// See ContainerRuntime::StartExec. `bundle` is the container's run directory, with its config.json.
// Pointees of `tools` must outlive the command.
absl::StatusOr<std::unique_ptr<RunningCommand>> StartInContainer(const ExecTools& tools,
                                                                 absl::string_view id,
                                                                 absl::string_view cgroup_path,
                                                                 const ExecRequest& request,
                                                                 const FsRoot& bundle);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_STREAM_H_
