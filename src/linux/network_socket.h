// Sockets in network namespaces of others.
#ifndef PLIMSOLL_LINUX_NETWORK_SOCKET_H_
#define PLIMSOLL_LINUX_NETWORK_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// A socket (socket(2)'s `family` and `type`) of the network namespace at `path`, whichever one its
// user is in; an empty path: this process's own. Non-blocking, close-on-exec. NOT_FOUND when there
// is no such file. Works in a thread of its own.
absl::StatusOr<UniqueFd> MakeNetworkSocket(const std::string& path, int family, int type);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NETWORK_SOCKET_H_
