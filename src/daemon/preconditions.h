// What a start needs before it makes anything.
#ifndef PLIMSOLL_DAEMON_PRECONDITIONS_H_
#define PLIMSOLL_DAEMON_PRECONDITIONS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/config.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::daemon {

// NOT_FOUND when a program is missing that containers can't do without. Asked before anything is
// made, so that on such a machine nothing is left behind.
absl::Status CheckPrograms(const Config& config);

// Each container costs some descriptors (monitor, exec, streams): from now on this process may have
// as many as are allowed. Returns the limit that was found, which is for containers: programs that
// use select(2), or that close every descriptor they may have, don't bear a high one.
// FAILED_PRECONDITION: they are too few to start with.
absl::StatusOr<runtime::DescriptorLimit> RaiseDescriptorLimit();

// FAILED_PRECONDITION where RLIMIT_FSIZE, which monitors and containers inherit, is too low for
// layers, logs and the database.
absl::Status CheckFileSizeLimit();

// FAILED_PRECONDITION where RLIMIT_STACK is too low: it is the size of each thread's stack, and a
// stack that is full ends the process without a word. Asked first of all.
absl::Status CheckStackLimit();

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_PRECONDITIONS_H_
