// Connections to unix sockets that nobody but root can have made.
#ifndef PLIMSOLL_KUBELET_CONNECT_H_
#define PLIMSOLL_KUBELET_CONNECT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::kubelet {

// A socket's file, open, so that what was looked at is what is connected to.
struct SocketOfRoot {
  UniqueFd file;
  dev_t device = 0;
  ino_t inode = 0;
  bool IsSameFile(const SocketOfRoot& other) const {
    return device == other.device && inode == other.inode;
  }
};

// Costs microseconds where there is none. NOT_FOUND: there is no such file. FAILED_PRECONDITION:
// the file is no socket. PERMISSION_DENIED: it is another user's.
absl::StatusOr<SocketOfRoot> FindSocket(const std::string& path);

// A non-blocking connection; never waits. `path` is for messages. UNAVAILABLE: no process listens,
// or it accepts no more connections. PERMISSION_DENIED: another user listens.
absl::StatusOr<UniqueFd> Connect(const SocketOfRoot& socket, const std::string& path);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONNECT_H_
