// Whether somebody listens at a unix socket.
#ifndef PLIMSOLL_BASE_SOCKET_PROBE_H_
#define PLIMSOLL_BASE_SOCKET_PROBE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// OK: something does, be it too busy to accept. NOT_FOUND: nothing does; PERMISSION_DENIED;
// FAILED_PRECONDITION: what is there is no socket; INVALID_ARGUMENT: the path is longer than a
// socket's address may be. Never waits.
absl::Status ProbeSocket(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_PROBE_H_
