#include "base/socket_probe.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {

absl::Status ProbeSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket path ", path, " is longer than ",
                                                   sizeof(address.sun_path) - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  // The listener's backlog is full: a connect(2) that may block would wait for it, without end.
  if (errno == EAGAIN) return absl::OkStatus();
  if (errno == ECONNREFUSED) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is no socket"));
    }
    return absl::NotFoundError(absl::StrCat("connect ", path, ": no process listens there"));
  }
  return ErrnoStatus(errno, absl::StrCat("connect ", path));
}

}  // namespace plimsoll
