// Settings of a container's init that OCI runtimes of today don't make: I/O priority and
// scheduling. They are made between create and start, while init is one sleeping thread, so all
// that it becomes and starts has them. Commands that enter the container later don't: the OCI
// runtime specification has these settings per process.
#ifndef PLIMSOLL_RUNTIME_OCI_PROCESS_SETTINGS_H_
#define PLIMSOLL_RUNTIME_OCI_PROCESS_SETTINGS_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "linux/process.h"
#include "runtime/spec/oci_extras.h"

namespace plimsoll::runtime {

// The kernel's ranges. Errors begin with the field ("linux.io_priority").
absl::Status CheckProcessSettings(const OciExtras& extras);

// FAILED_PRECONDITION when the kernel doesn't permit a setting here, with the field and a way out.
absl::Status ApplyProcessSettings(const FsRoot& host, const OciExtras& extras,
                                  const linux::ProcessId& init);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_PROCESS_SETTINGS_H_
