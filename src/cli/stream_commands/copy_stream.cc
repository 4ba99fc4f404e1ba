#include "cli/stream_commands/copy_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::cli {
namespace {

constexpr int kLookMs = 100;
constexpr absl::Duration kLong = absl::Milliseconds(500);
constexpr size_t kBufferBytes = 256 * 1024;

}  // namespace

CopyWatch::CopyWatch(std::string title, bool quiet, std::function<bool()> cancelled)
    : title_(std::move(title)),
      shows_(!quiet && isatty(STDERR_FILENO) != 0),
      cancelled_(std::move(cancelled)),
      begin_(absl::Now()) {}

absl::Status CopyWatch::Step(uint64_t bytes) {
  if (cancelled_()) return absl::CancelledError("interrupted");
  bytes_ += bytes;
  if (!shows_) return absl::OkStatus();
  if (bar_ == nullptr && absl::Now() - begin_ > kLong) bar_ = std::make_unique<ProgressBar>("cp");
  if (bar_ != nullptr) bar_->Update(title_, bytes_, 0);
  return absl::OkStatus();
}

absl::StatusOr<size_t> WatchedStream::Read(char* buffer, size_t size) {
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(watch_.Step(0));
    pollfd look = {fd_, POLLIN, 0};
    if (poll(&look, 1, kLookMs) <= 0) continue;
    const ssize_t n = read(fd_, buffer, size);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", name_));
    PLIMSOLL_RETURN_IF_ERROR(watch_.Step(static_cast<uint64_t>(n)));
    return static_cast<size_t>(n);
  }
}

absl::Status PassOn(image::ByteStream& from, int to, const std::string& name) {
  std::vector<char> buffer(kBufferBytes);
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t size, from.Read(buffer.data(), buffer.size()));
    if (size == 0) return absl::OkStatus();
    absl::string_view rest(buffer.data(), size);
    while (!rest.empty()) {
      const ssize_t n = write(to, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", name));
      rest.remove_prefix(static_cast<size_t>(n));
    }
  }
}

}  // namespace plimsoll::cli
