#include "runtime/oci/captured_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// The smallest request to the budget.
constexpr size_t kStep = 64 * 1024;
// Spare memory that a shortened text may keep.
constexpr size_t kSlack = 1024 * 1024;

}  // namespace

absl::Status CapturedOutput::Open() {
  for (Pipe& pipe : pipes_) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    pipe.reader.Reset(fds[0]);
    pipe.writer.Reset(fds[1]);
    fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
  }
  return absl::OkStatus();
}

void CapturedOutput::CloseWriters() {
  for (Pipe& pipe : pipes_) pipe.writer.Reset();
}

size_t CapturedOutput::Read(Stream stream) {
  char buffer[65536];
  ssize_t n = -1;
  do {
    n = read(reader(stream), buffer, sizeof(buffer));
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n <= 0) {
    pipes_[stream].reader.Reset();
    return 0;
  }
  Append(stream, {buffer, static_cast<size_t>(n)});
  return static_cast<size_t>(n);
}

void CapturedOutput::ReadRest() {
  for (const Stream stream : {kOut, kErr}) {
    const int capacity = fcntl(reader(stream), F_GETPIPE_SZ);
    size_t left = capacity > 0 ? static_cast<size_t>(capacity) : 0;
    while (left > 0 && pipes_[stream].reader.valid()) {
      const size_t taken = Read(stream);
      if (taken == 0) break;
      left -= std::min(left, taken);
    }
    pipes_[stream].reader.Reset();
  }
  if (share_ != nullptr) share_->ShrinkTo(Kept());
}

void CapturedOutput::MakeRoom(Stream stream, size_t wanted) {
  Pipe& other = pipes_[stream == kOut ? kErr : kOut];
  const size_t half = max_ / 2;
  const size_t size = pipes_[stream].text.size();
  if (size >= half) return;
  const size_t rest = max_ - std::min(half, size + wanted);
  if (other.text.size() <= rest) return;
  other.text.resize(rest);
  other.cut = true;
  // Not each time, which would copy it for every piece.
  if (other.text.capacity() - rest > kSlack) other.text.shrink_to_fit();
}

size_t CapturedOutput::Grant(const Pipe& pipe, size_t wanted) {
  const size_t kept = Kept();
  wanted = std::min(wanted, max_ - kept);
  if (share_ == nullptr) return wanted;
  if (share_->bytes() < kept + wanted) {
    // Doubled, as the text's memory is when it grows.
    const size_t more = std::min(std::max(kStep, share_->bytes()), max_ - kept);
    share_->Take(std::max(more, kept + wanted - share_->bytes()));
  }
  const size_t sure = std::min(wanted, kSureBytes - std::min(kSureBytes, pipe.text.size()));
  if (share_->bytes() < kept + sure) share_->Overdraw(kept + sure - share_->bytes());
  return std::min(wanted, share_->bytes() - kept);
}

void CapturedOutput::Append(Stream stream, absl::string_view data) {
  Pipe& pipe = pipes_[stream];
  if (pipe.cut) return;  // for good: the kept text has no hole
  MakeRoom(stream, data.size());
  const size_t granted = Grant(pipe, data.size());
  pipe.text.append(data.data(), granted);
  pipe.cut = granted < data.size();
  pipe.cut_for_others = pipe.cut && Kept() < max_;
}

std::string CapturedOutput::TakeText(Stream stream) {
  Pipe& pipe = pipes_[stream];
  std::string text = std::move(pipe.text);
  if (!pipe.cut) return text;
  const size_t kept = text.size();
  absl::StrAppend(
      &text, "\n[plimsoll: output truncated after ", kept, " bytes",
      pipe.cut_for_others ? ": the output of all commands together has reached its limit" : "",
      "]\n");
  return text;
}

}  // namespace plimsoll::runtime
