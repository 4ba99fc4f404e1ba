// Sockets in other network namespaces.
#ifndef PLIMSOLL_LINUX_NETWORK_SOCKET_H_
#define PLIMSOLL_LINUX_NETWORK_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// Makes a socket (socket(2)'s `family` and `type`) in the network namespace at `path`, whatever the
// caller's namespace; an empty path: this process's own. Non-blocking, close-on-exec. NOT_FOUND
// when there is no such file. Works in a thread of its own.
absl::StatusOr<UniqueFd> MakeNetworkSocket(const std::string& path, int family, int type);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NETWORK_SOCKET_H_
