#include "nri/ttrpc/sender.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "base/status.h"
#include "nri/ttrpc/frames.h"

namespace plimsoll::nri {
namespace {

// Frames that go to the kernel at once.
constexpr size_t kFramesAtOnce = 16;

absl::Status WaitForRoom(int socket, SteadyTime deadline) {
  const absl::Duration left = TimeUntil(deadline);
  if (left <= absl::ZeroDuration()) {
    return absl::AbortedError("the other side didn't read a message in time");
  }
  const int64_t milliseconds =
      left == absl::InfiniteDuration() ? -1 : absl::ToInt64Milliseconds(left) + 1;
  pollfd room = {socket, POLLOUT, 0};
  poll(&room, 1, static_cast<int>(std::min<int64_t>(milliseconds, INT_MAX)));
  return absl::OkStatus();
}

}  // namespace

absl::Status Sender::Send(uint32_t connection, SteadyTime deadline,
                          absl::FunctionRef<absl::StatusOr<std::string>()> make) {
  {
    absl::MutexLock lock(&mutex_);
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_sending_; };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&is_free), TimeUntil(deadline))) {
      return absl::DeadlineExceededError("other messages took all of the time to send it");
    }
    if (is_broken_) return absl::AbortedError("an earlier message was not sent whole");
    is_sending_ = true;
  }
  const absl::StatusOr<std::string> message = make();
  const absl::Status sent =
      message.ok() ? SendFrames(connection, *message, deadline) : message.status();
  absl::MutexLock lock(&mutex_);
  is_sending_ = false;
  is_broken_ = message.ok() && !sent.ok();
  return sent;
}

absl::Status Sender::SendFrames(uint32_t connection, absl::string_view message,
                                SteadyTime deadline) {
  std::string frames;
  while (!message.empty()) {
    const absl::string_view part = message.substr(0, kFramesAtOnce * kMaxSentPayloadBytes);
    message.remove_prefix(part.size());
    frames.clear();
    AppendFrames(connection, part, &frames);
    PLIMSOLL_RETURN_IF_ERROR(SendBytes(frames, deadline));
  }
  return absl::OkStatus();
}

absl::Status Sender::SendBytes(absl::string_view bytes, SteadyTime deadline) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      PLIMSOLL_RETURN_IF_ERROR(WaitForRoom(socket_, deadline));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return absl::AbortedError("the other side closed the connection");
    } else if (errno != EINTR) {
      return absl::AbortedError(ErrnoStatus(errno, "send on the socket").message());
    }
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::nri
