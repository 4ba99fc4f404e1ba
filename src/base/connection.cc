#include "base/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/socket_probe.h"
#include "base/status.h"

namespace plimsoll {
namespace {

constexpr size_t kReceiveBytes = 16 * 1024;
// Most that Finish discards.
constexpr size_t kDiscardBytes = 16 * 1024 * 1024;

absl::Status Broken(int error) {
  return absl::UnavailableError(
      absl::StrCat("the connection broke: ", ErrnoStatus(error, "socket").message()));
}

int PollTimeout(SteadyTime deadline) {
  const absl::Duration left = TimeUntil(deadline);
  if (left == absl::InfiniteDuration()) return -1;
  const int64_t milliseconds = absl::ToInt64Milliseconds(left + absl::Milliseconds(1));
  return static_cast<int>(std::clamp<int64_t>(milliseconds, 0, INT_MAX));
}

}  // namespace

Connection::Connection(UniqueFd socket, int stop) : socket_(std::move(socket)), stop_(stop) {
  const int flags = fcntl(socket_.get(), F_GETFL);
  fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

absl::StatusOr<Connection::Ready> Connection::Await(short events, SteadyTime deadline) const {
  while (true) {
    pollfd polls[] = {{stop_, POLLIN, 0}, {socket_.get(), events, 0}};
    const int count = poll(polls, 2, PollTimeout(deadline));
    if (count < 0 && errno != EINTR) return Broken(errno);
    if (count < 0) continue;
    if (polls[0].revents != 0) return absl::CancelledError("the connection was given up");
    if (polls[1].revents != 0) return Ready::kSocket;
    if (TimeUntil(deadline) <= absl::ZeroDuration()) return Ready::kTime;
  }
}

absl::Status Connection::AwaitInput(SteadyTime deadline) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ready ready, Await(POLLIN, deadline));
  if (ready == Ready::kSocket) return absl::OkStatus();
  return absl::DeadlineExceededError("nothing came in time");
}

absl::Status Connection::Receive(SteadyTime deadline, std::string* buffer) {
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(AwaitInput(deadline));
    const size_t before = buffer->size();
    buffer->resize(before + kReceiveBytes);
    const ssize_t count = recv(socket_.get(), buffer->data() + before, kReceiveBytes, 0);
    const int error = errno;
    buffer->resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) return absl::OkStatus();
    if (count == 0) return absl::OutOfRangeError("the connection was closed");
    if (error != EAGAIN && error != EINTR) return Broken(error);
  }
}

absl::Status Connection::Send(absl::string_view text, absl::Duration patience) {
  while (!text.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Ready ready, Await(POLLOUT, SteadyAfter(patience)));
    if (ready == Ready::kTime) return absl::DeadlineExceededError("the peer reads too slowly");
    const ssize_t count = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return Broken(errno);
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return absl::OkStatus();
}

absl::Status Connection::Rest(absl::Duration time) const {
  // Without events asked for, poll(2) reports only a closed or broken connection.
  PLIMSOLL_ASSIGN_OR_RETURN(const Ready ready, Await(0, SteadyAfter(time)));
  if (ready == Ready::kTime) return absl::OkStatus();
  return absl::UnavailableError("the peer has closed the connection");
}

void Connection::Finish(absl::Duration patience) {
  shutdown(socket_.get(), SHUT_WR);
  const SteadyTime deadline = SteadyAfter(patience);
  std::string discarded;
  for (size_t bytes = 0; bytes < kDiscardBytes; bytes += discarded.size()) {
    discarded.clear();
    if (!Receive(deadline, &discarded).ok()) return;
  }
}

void Connection::RefuseMore() const {
  shutdown(socket_.get(), SHUT_RD);
}

absl::StatusOr<UniqueFd> ConnectToSocket(const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(ProbeSocket(path));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoStatus(errno, absl::StrCat("connect to ", path));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError(ErrnoStatus(errno, absl::StrCat("connect to ", path)).message());
  }
  return socket;
}

}  // namespace plimsoll
