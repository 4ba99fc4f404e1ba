#include "base/socket_address.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace plimsoll {
namespace {

bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '_' ||
           c == '-' || c == '~';
  });
}

}  // namespace

absl::StatusOr<SocketAddress> SocketAddressOf(const std::string& path) {
  if (IsPlain(path)) return SocketAddress{absl::StrCat("unix:", path), UniqueFd()};
  const size_t slash = path.rfind('/');
  std::string directory = slash == 0 ? "/" : path.substr(0, slash);
  std::string name = path.substr(slash + 1);
  if (slash == std::string::npos) {
    directory = ".";
    name = path;
  }
  if (!IsPlain(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "socket ", path, ": its name may hold letters, digits, \".\", \"_\" and \"-\" only"));
  }
  UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", directory));
  std::string uri = absl::StrCat("unix:/proc/self/fd/", fd.get(), "/", name);
  return SocketAddress{std::move(uri), std::move(fd)};
}

}  // namespace plimsoll
