#include "service/log_output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace plimsoll {
namespace {

// Waits until a pipe has room for PIPE_BUF bytes, or a socket for as much. False at the deadline.
// Errors show at write(2).
bool AwaitRoom(int fd, absl::Time deadline) {
  for (;;) {
    const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
    pollfd polled = {.fd = fd, .events = POLLOUT, .revents = 0};
    const int ready =
        poll(&polled, 1,
             static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)))));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

LogOutput::LogOutput(int fd, LostLine lost_line, absl::Duration patience)
    : fd_(fd), lost_line_(std::move(lost_line)), patience_(patience) {}

void LogOutput::Write(absl::string_view line) {
  if (lost_ > 0 && WriteWhole(lost_line_(lost_))) lost_ = 0;
  if (lost_ > 0 || !WriteWhole(line)) ++lost_;
}

bool LogOutput::WriteWhole(absl::string_view line) {
  // After a cut line, start a new one.
  const std::string text = absl::StrCat(is_cut_ ? "\n" : "", line, "\n");
  const size_t taken =
      WriteSome(text, absl::Now() + (is_stuck_ ? absl::ZeroDuration() : patience_));
  is_stuck_ = taken < text.size();
  if (taken > 0) is_cut_ = is_stuck_;
  return !is_stuck_;
}

size_t LogOutput::WriteSome(absl::string_view text, absl::Time deadline) const {
  size_t taken = 0;
  while (taken < text.size() && AwaitRoom(fd_, deadline)) {
    const size_t length = std::min<size_t>(text.size() - taken, PIPE_BUF);
    const ssize_t written = write(fd_, text.data() + taken, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    taken += static_cast<size_t>(written);
  }
  return taken;
}

}  // namespace plimsoll
