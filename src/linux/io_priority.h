// Priorities of processes at the disk: ioprio_set(2).
#ifndef PLIMSOLL_LINUX_IO_PRIORITY_H_
#define PLIMSOLL_LINUX_IO_PRIORITY_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// The kernel's value for a class ("IOPRIO_CLASS_RT", "_BE", "_IDLE" or "_NONE") and a priority of 0
// (first) to 7. INVALID_ARGUMENT names the mistake.
absl::StatusOr<int> ParseIoPriority(absl::string_view io_class, int priority);

// For this process. Its children inherit it. Only some I/O schedulers of the kernel obey it (bfq,
// and mq-deadline the classes). PERMISSION_DENIED for IOPRIO_CLASS_RT without CAP_SYS_ADMIN or
// CAP_SYS_NICE.
absl::Status SetIoPriority(pid_t process, int value);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_IO_PRIORITY_H_
