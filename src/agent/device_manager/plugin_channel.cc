#include "agent/device_manager/plugin_channel.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "base/text/quoted.h"
#include "base/unique_fd.h"

namespace plimsoll::agent {
namespace {

// The file that was looked at is the one that is connected to, and a path of any length fits.
absl::StatusOr<UniqueFd> Connect(const UniqueFd& file, const std::string& path) {
  UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return ErrnoStatus(errno, "make a unix socket");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file.get());
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
      0) {
    return connection;
  }
  if (errno == ECONNREFUSED) {
    return absl::UnavailableError(absl::StrCat("no process listens at ", path));
  }
  return ErrnoStatus(errno, absl::StrCat("connect to ", path));
}

}  // namespace

absl::Status CheckSocketName(absl::string_view name) {
  if (!name.empty() && name != "." && name != ".." && name.size() <= 255 &&
      name.find('/') == absl::string_view::npos && name.find('\0') == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "endpoint ", Quoted(name),
      " must be the file name of a socket in the directory of kubelet.sock, without a path"));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToPlugin(const FsRoot& root,
                                                               const std::string& path) {
  const std::string shown = Printable(root.PathOf(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, root.OpenFile(path, O_PATH | O_NOFOLLOW));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", shown));
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(shown, " is no socket"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd connection, Connect(file, shown));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxPluginMessageBytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomInsecureChannelFromFd("plugin", connection.Release(), arguments);
}

}  // namespace plimsoll::agent
