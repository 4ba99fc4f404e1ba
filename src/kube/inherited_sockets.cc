#include "kube/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::kube {
namespace {

constexpr int kMostSockets = 16;

int NumberOf(const char* text) {
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : 0;
}

absl::StatusOr<std::string> PathOf(int fd) {
  const std::string what = absl::StrCat("inherited descriptor ", fd);
  int listens = 0;
  socklen_t size = sizeof(listens);
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) {
    return ErrnoStatus(errno, what);
  }
  sockaddr_un address = {};
  size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return ErrnoStatus(errno, what);
  }
  if (listens == 0 || address.sun_family != AF_UNIX || address.sun_path[0] == '\0') {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is no listening unix socket with a path: ",
                     "use ListenStream= with a path in the .socket unit"));
  }
  return std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
}

}  // namespace

absl::StatusOr<std::map<std::string, UniqueFd>> InheritedSockets(
    const std::function<const char*(const char*)>& environment, pid_t self, int first) {
  std::map<std::string, UniqueFd> sockets;
  // Another pid: they were meant for a parent of this process.
  if (NumberOf(environment("LISTEN_PID")) != self) return sockets;
  const int count = NumberOf(environment("LISTEN_FDS"));
  if (count < 0 || count > kMostSockets) {
    return absl::InvalidArgumentError(
        absl::StrCat("LISTEN_FDS is ", count, "; at most ", kMostSockets, " sockets are taken"));
  }
  for (int fd = first; fd < first + count; ++fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return absl::InvalidArgumentError(
          ErrnoStatus(errno, absl::StrCat("inherited descriptor ", fd)).message());
    }
    UniqueFd owned(fd);
    absl::StatusOr<std::string> path = PathOf(fd);
    if (!path.ok()) return absl::InvalidArgumentError(path.status().message());
    sockets.insert_or_assign(*std::move(path), std::move(owned));
  }
  return sockets;
}

UniqueFd TakeSocket(std::map<std::string, UniqueFd>& sockets, const std::string& path) {
  const auto found = sockets.find(path);
  if (found == sockets.end()) return UniqueFd();
  UniqueFd socket = std::move(found->second);
  sockets.erase(found);
  return socket;
}

}  // namespace plimsoll::kube
