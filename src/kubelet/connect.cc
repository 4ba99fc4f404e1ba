#include "kubelet/connect.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::kubelet {
namespace {

absl::Status NotRoots(const std::string& path, absl::string_view part, uid_t user) {
  return absl::PermissionDeniedError(absl::StrCat(path, ": its ", part, " is user ", user,
                                                  ", and kubelet's is root; it is not asked"));
}

}  // namespace

absl::StatusOr<SocketOfRoot> FindSocket(const std::string& path) {
  SocketOfRoot found{.file = UniqueFd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC))};
  if (!found.file.valid()) {
    if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("there is no ", path));
    return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  struct stat info = {};
  if (fstat(found.file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no socket"));
  }
  if (info.st_uid != 0) return NotRoots(path, "owner", info.st_uid);
  found.device = info.st_dev;
  found.inode = info.st_ino;
  return found;
}

absl::StatusOr<UniqueFd> Connect(const SocketOfRoot& found, const std::string& path) {
  UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return ErrnoStatus(errno, "make a unix socket");
  // Through the open file; a path of any length fits so.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", found.file.get());
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    if (errno == ECONNREFUSED) {
      return absl::UnavailableError(absl::StrCat(path, ": no process listens there"));
    }
    if (errno == EAGAIN) {
      return absl::UnavailableError(absl::StrCat(path, ": its process accepts no connections"));
    }
    return ErrnoStatus(errno, absl::StrCat("connect ", path));
  }
  ucred listener = {};
  socklen_t size = sizeof(listener);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0) {
    return ErrnoStatus(errno, absl::StrCat("ask for the listener of ", path));
  }
  if (listener.uid != 0) return NotRoots(path, "listener", listener.uid);
  return connection;
}

}  // namespace plimsoll::kubelet
