// Connections to unix sockets that nobody but root can have made.
#ifndef PLIMSOLL_KUBELET_CONNECT_H_
#define PLIMSOLL_KUBELET_CONNECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::kubelet {

// A non-blocking connection; never waits, and costs microseconds where there is no socket.
// NOT_FOUND: there is no such file. UNAVAILABLE: no process listens, or it accepts no more
// connections. FAILED_PRECONDITION: the file is no socket. PERMISSION_DENIED: the file or its
// listener is another user's.
absl::StatusOr<UniqueFd> ConnectToRoot(const std::string& path);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONNECT_H_
