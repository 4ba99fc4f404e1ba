// Descriptors of a running container's file system.
#ifndef PLIMSOLL_COPY_CONTAINER_ROOT_H_
#define PLIMSOLL_COPY_CONTAINER_ROOT_H_

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/process.h"

namespace plimsoll::copy {

struct ContainerRoot {
  UniqueFd root;            // O_PATH: the root directory of the container's first process
  UniqueFd user_namespace;  // invalid: the container has this process's
};

// Opens everything through one descriptor of the process's directory in `host`'s proc/, and only
// then checks that the intended process still has that pid: then it had it before, too. NOT_FOUND:
// it is gone, even if another has its pid now. FAILED_PRECONDITION: its root is this machine's, as
// for a container in a virtual machine.
absl::StatusOr<ContainerRoot> OpenContainerRoot(const FsRoot& host, const linux::ProcessId& init);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_CONTAINER_ROOT_H_
