#include "linux/network_socket.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

absl::StatusOr<UniqueFd> MakeSocket(int family, int type) {
  UniqueFd made(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return ErrnoStatus(errno, "make a socket");
  return made;
}

}  // namespace

absl::StatusOr<UniqueFd> MakeNetworkSocket(const std::string& path, int family, int type) {
  if (path.empty()) return MakeSocket(family, type);
  const UniqueFd network(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!network.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  absl::StatusOr<UniqueFd> made = absl::UnknownError("");
  try {
    // A thread has its own namespace, and this one's ends with it.
    std::thread([&] {
      if (setns(network.get(), CLONE_NEWNET) != 0) {
        made = ErrnoStatus(errno, absl::StrCat("enter the network namespace ", path));
      } else {
        made = MakeSocket(family, type);
      }
    }).join();
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(), "start a thread");
  }
  return made;
}

}  // namespace plimsoll::linux
