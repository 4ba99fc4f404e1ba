#include "cri/socket_file.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "cri/validate.h"

namespace plimsoll::cri {
namespace {

// Added to the path while the socket isn't ready to be found.
constexpr char kUnfinished[] = "~";

}  // namespace

absl::Status CheckSocketPath(const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("socket path", path));
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - sizeof(kUnfinished);
  if (path.size() > kLongest) {
    return Invalid("socket path", path, absl::StrCat("must be at most ", kLongest, " bytes"));
  }
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
  return path + kUnfinished;
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

}  // namespace plimsoll::cri
