// Reports the daemon's progress to its starter.
#ifndef PLIMSOLL_SERVICE_NOTIFY_H_
#define PLIMSOLL_SERVICE_NOTIFY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// Sends `state` ("READY=1", "STOPPING=1\nSTATUS=...") to the socket that $NOTIFY_SOCKET names, as
// in sd_notify(3). OK, sending nothing, if the variable is not set: no service manager waits.
// UNAVAILABLE if the service manager takes nothing now, unless this may wait until it does.
absl::Status NotifyServiceManager(absl::string_view state, bool may_wait = true);

// Writes one byte to `fd` and closes it: for a parent that waits on a pipe. -1: does nothing.
absl::Status NotifyReadyFd(int fd);

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_NOTIFY_H_
