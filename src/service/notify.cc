#include "service/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {

absl::Status NotifyServiceManager(absl::string_view state, bool may_wait) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return absl::OkStatus();
  const size_t length = std::strlen(name);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if ((name[0] != '/' && name[0] != '@') || length >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET='", name, "': neither a path nor an abstract socket"));
  }
  std::memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = '\0';  // abstract (unix(7))

  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "make a datagram socket");
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const int flags = MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT);
  const ssize_t sent = sendto(fd.get(), state.data(), state.size(), flags,
                              reinterpret_cast<const sockaddr*>(&address), size);
  if (sent < 0) return ErrnoStatus(errno, absl::StrCat("notify the service manager at ", name));
  return absl::OkStatus();
}

absl::Status NotifyReadyFd(int fd) {
  if (fd < 0) return absl::OkStatus();
  UniqueFd owned(fd);
  ssize_t written = 0;
  do {
    written = write(fd, "1", 1);
  } while (written < 0 && errno == EINTR);
  // The parent may be gone, which is no error here (the daemon ignores SIGPIPE).
  if (written < 0 && errno != EPIPE) return ErrnoStatus(errno, "write to --ready-fd");
  return absl::OkStatus();
}

}  // namespace plimsoll
