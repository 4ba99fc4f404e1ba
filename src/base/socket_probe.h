// Tests for a listener at a unix socket.
#ifndef PLIMSOLL_BASE_SOCKET_PROBE_H_
#define PLIMSOLL_BASE_SOCKET_PROBE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// OK when a server listens, even one too busy to accept. NOT_FOUND when none does;
// PERMISSION_DENIED; FAILED_PRECONDITION when the file is no socket; INVALID_ARGUMENT when the path
// is too long for a socket's address. Never waits.
absl::Status ProbeSocket(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_PROBE_H_
