// gRPC addresses of unix sockets.
#ifndef PLIMSOLL_BASE_SOCKET_ADDRESS_H_
#define PLIMSOLL_BASE_SOCKET_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// gRPC reads an address as a URI and takes a comma for its end. A path with such characters becomes
// "/proc/self/fd/<n>/<name>", which has none.
struct SocketAddress {
  std::string uri;     // "unix:..."; valid while `directory` is open
  UniqueFd directory;  // the socket's; invalid where the path could be used as it is
};

// Opens nothing for a path of plain characters. NOT_FOUND when the socket's directory doesn't
// exist, INVALID_ARGUMENT when its name has special characters too.
absl::StatusOr<SocketAddress> SocketAddressOf(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_ADDRESS_H_
