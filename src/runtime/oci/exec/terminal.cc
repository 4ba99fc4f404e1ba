#include "runtime/oci/exec/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/pipe.h"
#include "base/random_id.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

constexpr size_t kPathDigits = 16;

// The directory's own path may be too long for an address.
absl::StatusOr<UniqueFd> ListenAt(const FsRoot& directory, const std::string& name) {
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoStatus(errno, "make a socket");
  const std::string path = absl::StrCat("/proc/self/fd/", directory.fd(), "/", name);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), 1) != 0) {
    return ErrnoStatus(errno, absl::StrCat("listen at ", directory.PathOf(name)));
  }
  return listener;
}

// The descriptor in the one message of runc's console-socket protocol.
absl::StatusOr<UniqueFd> ReceiveDescriptor(int connection) {
  char name[256];
  iovec part = {name, sizeof(name)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0) {
    return ErrnoStatus(errno, "receive the terminal");
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return absl::NotFoundError("no terminal was sent");
  }
  int master = -1;
  memcpy(&master, CMSG_DATA(header), sizeof(master));
  return UniqueFd(master);
}

// Waits until `fd` is readable; an error if one of the others is readable first.
absl::Status AwaitReadable(int fd, int pidfd, int cancel_fd, absl::Time deadline) {
  while (true) {
    pollfd polls[3] = {{fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}, {pidfd, POLLIN, 0}};
    const int64_t left = absl::ToInt64Milliseconds(deadline - MonotonicNow()) + 1;
    const int ready = poll(polls, 3, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return ErrnoStatus(errno, "wait for the terminal");
    if (ready == 0) return absl::DeadlineExceededError("no terminal was made in time");
    if (polls[0].revents != 0) return absl::OkStatus();
    if (polls[1].revents != 0) return absl::CancelledError("cancelled");
    return absl::NotFoundError("it ended without a terminal");
  }
}

}  // namespace

ExecTerminal::~ExecTerminal() {
  // If removal fails, the file goes with the container.
  if (!console_.empty()) bundle_.RemoveFile(console_).IgnoreError();
}

absl::Status ExecTerminal::Prepare() {
  console_ = absl::StrCat("exec-", RandomId().substr(0, kPathDigits), ".sock");
  PLIMSOLL_ASSIGN_OR_RETURN(listener_, ListenAt(bundle_, console_));
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ExecTerminal::Receive(int pidfd, int cancel_fd, absl::Time deadline) {
  PLIMSOLL_RETURN_IF_ERROR(AwaitReadable(listener_.get(), pidfd, cancel_fd, deadline));
  const UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.valid()) return ErrnoStatus(errno, "take the terminal's connection");
  PLIMSOLL_RETURN_IF_ERROR(AwaitReadable(connection.get(), pidfd, cancel_fd, deadline));
  return ReceiveDescriptor(connection.get());
}

absl::StatusOr<HostTerminal> MakeHostTerminal() {
  HostTerminal made;
  made.master.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!made.master.valid() || unlockpt(made.master.get()) != 0) {
    return ErrnoStatus(errno, "make a terminal");
  }
  made.slave.Reset(ioctl(made.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios mode = {};
  if (!made.slave.valid() || tcgetattr(made.slave.get(), &mode) != 0) {
    return ErrnoStatus(errno, "open a terminal");
  }
  cfmakeraw(&mode);
  if (tcsetattr(made.slave.get(), TCSANOW, &mode) != 0) {
    return ErrnoStatus(errno, "make a terminal raw");
  }
  PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(made.master));
  return made;
}

}  // namespace plimsoll::runtime
