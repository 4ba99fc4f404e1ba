// A running container's file system, held as it is.
#ifndef PLIMSOLL_COPY_CONTAINER_ROOT_H_
#define PLIMSOLL_COPY_CONTAINER_ROOT_H_

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/process.h"

namespace plimsoll::copy {

struct ContainerRoot {
  UniqueFd root;            // O_PATH: the root directory of the container's first process
  UniqueFd user_namespace;  // invalid: the container is in this process's
};

// All is opened through one descriptor of the process's directory in `host`'s proc/, and only then
// it is looked at whether the process that is meant still has that pid: then it had it before too.
// NOT_FOUND: it is gone, also where its pid is another's now. FAILED_PRECONDITION: its root is this
// machine's, as of what runs in a virtual machine.
absl::StatusOr<ContainerRoot> OpenContainerRoot(const FsRoot& host, const linux::ProcessId& init);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_CONTAINER_ROOT_H_
