// Reports the daemon's progress to its starter.
#ifndef PLIMSOLL_SERVICE_NOTIFY_H_
#define PLIMSOLL_SERVICE_NOTIFY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// Sends `state` ("READY=1", "STOPPING=1\nSTATUS=...") to the socket that $NOTIFY_SOCKET names, as
// in sd_notify(3). OK, sending nothing, if the variable is not set: no service manager waits. Waits
// for nobody: if the service manager reads nothing now, it is OK, and a thread sends `state` once
// it does, after those before; an error is then a line of standard error. UNAVAILABLE: 64 states
// wait already. Thread-safe.
absl::Status NotifyServiceManager(absl::string_view state);

// Writes one byte to `fd` and closes it: for a parent that waits on a pipe. -1: does nothing.
absl::Status NotifyReadyFd(int fd);

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_NOTIFY_H_
