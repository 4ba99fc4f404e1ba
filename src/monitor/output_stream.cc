#include "monitor/output_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace plimsoll::monitor {
namespace {

// The capacity of a pipe whose writers may not enlarge it (fs.pipe-max-size).
constexpr size_t kMaxRest = 1024 * 1024;

int64_t NowUnixNanos() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void OutputStream::Read(int fd) {
  Close();
  fd_ = fd;
  size_ = 0;  // left from another source
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

size_t OutputStream::Pump() {
  if (fd_ < 0) return 0;
  const ssize_t n = read(fd_, buffer_ + size_, sizeof(buffer_) - size_);
  hung_up_ = n < 0 && errno == EIO;  // the terminal's other side is closed
  if (hung_up_ || (n < 0 && (errno == EAGAIN || errno == EINTR))) return 0;
  if (n <= 0) {
    Close();
    return 0;
  }
  if (attachments_ != nullptr) {
    attachments_->Tell(kind_, buffer_ + size_, static_cast<size_t>(n));
  }
  KeepFirst(buffer_ + size_, static_cast<size_t>(n));
  size_ += static_cast<size_t>(n);
  LogLines(NowUnixNanos());
  log_->Flush();
  return static_cast<size_t>(n);
}

void OutputStream::KeepFirst(const char* bytes, size_t size) {
  const size_t room = sizeof(first_) - 1 - first_size_;
  if (room == 0) return;
  if (size > room) size = room;
  memcpy(first_ + first_size_, bytes, size);
  first_size_ += size;
}

void OutputStream::LogLines(int64_t now) {
  const char* at = buffer_;
  size_t left = size_;
  while (left > 0) {
    const void* newline = memchr(at, '\n', left < kMaxLine ? left : kMaxLine);
    size_t line = kMaxLine;
    if (newline != nullptr) {
      line = static_cast<size_t>(static_cast<const char*>(newline) - at);
    } else if (left < kMaxLine) {
      break;
    }
    log_->Add(name_, newline != nullptr, at, line, now);
    const size_t used = line + (newline != nullptr ? 1 : 0);
    at += used;
    left -= used;
  }
  memmove(buffer_, at, left);
  size_ = left;
}

void OutputStream::Finish() {
  size_t taken = 0;
  for (size_t n = Pump(); n > 0 && taken < kMaxRest; n = Pump()) taken += n;
  if (size_ > 0) log_->Add(name_, false, buffer_, size_, NowUnixNanos());
  size_ = 0;
  log_->Flush();
  Close();
}

void OutputStream::Hold() {
  if (fd_ < 0) return;
  char beyond[4096];
  const size_t room = sizeof(buffer_) - 1 - size_;  // minus the NUL that Unlogged adds
  const ssize_t n = room > 0 ? read(fd_, buffer_ + size_, room) : read(fd_, beyond, sizeof(beyond));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    Close();
  } else if (room > 0) {
    size_ += static_cast<size_t>(n);
  }
}

void OutputStream::LogHeld() {
  if (size_ == 0) return;
  LogLines(NowUnixNanos());
  log_->Flush();
}

const char* OutputStream::Unlogged() {
  while (fd_ >= 0 && size_ < sizeof(buffer_) - 1) {
    const ssize_t n = read(fd_, buffer_ + size_, sizeof(buffer_) - 1 - size_);
    if (n <= 0) break;
    size_ += static_cast<size_t>(n);
  }
  buffer_[size_ < sizeof(buffer_) ? size_ : sizeof(buffer_) - 1] = '\0';
  return buffer_;
}

void OutputStream::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  hung_up_ = false;
}

}  // namespace plimsoll::monitor
