// Settings that a container makes outside of itself, in namespaces that it shares with its pod:
// sysctls, and network devices that move in. They are made between create and start and set back
// when the container is removed without having been started. Once it is started they stay for as
// long as the namespace lives: the OCI runtime specification has it so, and the pod's next
// container finds them in place.
#ifndef PLIMSOLL_RUNTIME_OCI_SHARED_SETTINGS_H_
#define PLIMSOLL_RUNTIME_OCI_SHARED_SETTINGS_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "linux/process.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::runtime {

// Makes them for this init, devices first (a sysctl may be a device's), and notes in the bundle how
// to set them back. After a failure, SetBackSharedSettings does that. Errors begin with the field:
// FAILED_PRECONDITION for one that would change the host, or for a device that can't move;
// NOT_FOUND for one that isn't there.
absl::Status MakeSharedSettings(const FsRoot& bundle, const CreateRequest& request,
                                const linux::ProcessId& init);

// Sets them back, as far as their namespaces are there and no other container has another value for
// a sysctl, or the device, by now. Call it while init lives, if it does: some
// namespaces end with it. OK when nothing is noted. After a failure, another call goes on.
absl::Status SetBackSharedSettings(const FsRoot& bundle);

// Lets them stay. OK when nothing is noted.
absl::Status KeepSharedSettings(const FsRoot& bundle);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SHARED_SETTINGS_H_
