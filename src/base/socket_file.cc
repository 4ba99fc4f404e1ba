#include "base/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/socket_probe.h"
#include "base/status.h"

namespace plimsoll {
namespace {

// Before the file's name while the socket isn't ready to be found. Programs that look for sockets
// in a directory leave out hidden files (kubelet: pkg/kubelet/pluginmanager/pluginwatcher).
constexpr char kUnfinished[] = ".";

absl::Status Refused(const std::string& path, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("socket path is \"", absl::CHexEscape(path), "\": ", rule));
}

// True for a ".." between slashes or at the end.
bool HasParentComponent(const std::string& path) {
  return absl::StrContains(path + "/", "/../");
}

}  // namespace

absl::Status CheckSocketPath(const std::string& path) {
  if (!absl::StartsWith(path, "/")) {
    return Refused(path, "must be an absolute path, beginning with \"/\"");
  }
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - sizeof(kUnfinished);
  if (path.size() > kLongest) {
    return Refused(path, absl::StrCat("must be at most ", kLongest, " bytes"));
  }
  if (absl::StrContains(path, '\0')) return Refused(path, "must not hold a NUL byte");
  if (HasParentComponent(path)) return Refused(path, "must not hold a \"..\" component");
  return absl::OkStatus();
}

absl::Status CheckNobodyListens(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, absl::StrCat("stat ", path));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is there and is not a socket: remove it or choose another path"));
  }
  if (!ProbeSocket(path).ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("another process listens on ", path, ": is a daemon running already?"));
}

std::string UnfinishedSocket(const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  return absl::StrCat(path.substr(0, name), kUnfinished, path.substr(name));
}

absl::Status PublishSocket(const SocketFile& socket) {
  const std::string unfinished = UnfinishedSocket(socket.path);
  if (socket.group.has_value() &&
      chown(unfinished.c_str(), static_cast<uid_t>(-1), *socket.group) != 0) {
    return ErrnoStatus(errno, absl::StrCat("give ", socket.path, " to group ", *socket.group));
  }
  if (chmod(unfinished.c_str(), socket.mode) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set the mode of ", socket.path));
  }
  if (rename(unfinished.c_str(), socket.path.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", unfinished, " to ", socket.path));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ListenAt(const SocketFile& socket) {
  const std::string unfinished = UnfinishedSocket(socket.path);
  const std::string what = absl::StrCat("listen on ", socket.path);
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoStatus(errno, what);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  unfinished.copy(address.sun_path, sizeof(address.sun_path) - 1);
  unlink(unfinished.c_str());
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, what);
  }
  absl::Cleanup remove = [&] { unlink(unfinished.c_str()); };
  if (listen(listener.get(), SOMAXCONN) != 0) return ErrnoStatus(errno, what);
  PLIMSOLL_RETURN_IF_ERROR(PublishSocket(socket));
  std::move(remove).Cancel();
  return listener;
}

}  // namespace plimsoll
