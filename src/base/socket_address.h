// gRPC addresses of unix sockets.
#ifndef PLIMSOLL_BASE_SOCKET_ADDRESS_H_
#define PLIMSOLL_BASE_SOCKET_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// gRPC reads an address as a URI and takes a comma for the end of one address: of a path with such
// characters it is given "/proc/self/fd/<n>/<name>" instead, which holds none.
struct SocketAddress {
  std::string uri;     // "unix:..."; as good as `directory` is open
  UniqueFd directory;  // of the socket; invalid where the path could be used as it is
};

// For a path of plain characters nothing is opened. NOT_FOUND when its directory
// isn't there, INVALID_ARGUMENT when the name in it has such characters too.
absl::StatusOr<SocketAddress> SocketAddressOf(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_ADDRESS_H_
