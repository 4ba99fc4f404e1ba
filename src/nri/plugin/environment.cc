#include "nri/plugin/environment.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/socket_file.h"
#include "base/status.h"

namespace plimsoll::nri {
namespace {

constexpr char kSocketVariable[] = "NRI_PLUGIN_SOCKET";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsOfName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
         c == '+';
}

bool IsStreamSocket(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// Connects once: a runtime reports each connection that doesn't register.
absl::StatusOr<UniqueFd> ConnectToRuntime(const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(path));
  UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return ErrnoStatus(errno, absl::StrCat("socket for ", path));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError(
        ErrnoStatus(errno, absl::StrCat("no runtime takes plugins at ", path)).message());
  }
  return connection;
}

}  // namespace

absl::Status Identify(PluginOptions* options) {
  const std::string name = Variable("NRI_PLUGIN_NAME");
  const std::string index = Variable("NRI_PLUGIN_IDX");
  if (!name.empty()) options->name = name;
  if (!index.empty()) options->index = index;
  if (options->name.empty() || !std::all_of(options->name.begin(), options->name.end(), IsOfName)) {
    return absl::InvalidArgumentError(absl::StrCat("the plugin's name \"", options->name,
                                                   "\" must be letters, digits and \"-_.+\""));
  }
  if (options->index.size() != 2 || !std::all_of(options->index.begin(), options->index.end(),
                                                 [](char c) { return '0' <= c && c <= '9'; })) {
    return absl::InvalidArgumentError(absl::StrCat("the index \"", options->index, "\" of plugin ",
                                                   options->name, " must be two digits"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> TakeSocket(PluginOptions& options) {
  if (options.connected.valid()) return std::move(options.connected);
  const std::string number = Variable(kSocketVariable);
  if (number.empty()) return ConnectToRuntime(options.socket);
  int fd = -1;
  if (!absl::SimpleAtoi(number, &fd) || fd <= STDERR_FILENO || !IsStreamSocket(fd)) {
    return absl::InvalidArgumentError(absl::StrCat(kSocketVariable, " \"", number,
                                                   "\" is not the number of a stream socket that "
                                                   "the runtime has left open"));
  }
  // The plugin's own children must not hold the connection open.
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return UniqueFd(fd);
}

}  // namespace plimsoll::nri
