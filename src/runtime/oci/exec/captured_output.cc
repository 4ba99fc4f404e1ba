#include "runtime/oci/exec/captured_output.h"

#include <fcntl.h>

#include <algorithm>
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
  for (Captured& stream : streams_) {
    PLIMSOLL_ASSIGN_OR_RETURN(stream.pipe, MakePipe());
    PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(stream.pipe.reader));
  }
  return absl::OkStatus();
}

void CapturedOutput::CloseWriters() {
  for (Captured& stream : streams_) stream.pipe.writer.Reset();
}

size_t CapturedOutput::Read(Stream stream) {
  return ReadSome(&streams_[stream].pipe.reader,
                  [&](absl::string_view part) { Append(stream, part); });
}

void CapturedOutput::ReadRest() {
  for (const Stream stream : {kOut, kErr}) {
    const int capacity = fcntl(reader(stream), F_GETPIPE_SZ);
    size_t left = capacity > 0 ? static_cast<size_t>(capacity) : 0;
    while (left > 0 && streams_[stream].pipe.reader.valid()) {
      const size_t taken = Read(stream);
      if (taken == 0) break;
      left -= std::min(left, taken);
    }
    streams_[stream].pipe.reader.Reset();
  }
  if (share_ != nullptr) share_->ShrinkTo(Kept());
}

void CapturedOutput::MakeRoom(Stream stream, size_t wanted) {
  Captured& other = streams_[stream == kOut ? kErr : kOut];
  const size_t half = max_ / 2;
  const size_t size = streams_[stream].text.size();
  if (size >= half) return;
  const size_t rest = max_ - std::min(half, size + wanted);
  if (other.text.size() <= rest) return;
  other.text.resize(rest);
  other.cut = true;
  // Not each time, which would copy it for every piece.
  if (other.text.capacity() - rest > kSlack) other.text.shrink_to_fit();
}

size_t CapturedOutput::Grant(const Captured& stream, size_t wanted) {
  const size_t kept = Kept();
  wanted = std::min(wanted, max_ - kept);
  if (share_ == nullptr) return wanted;
  if (share_->bytes() < kept + wanted) {
    // Doubled, as the text's memory is when it grows.
    const size_t more = std::min(std::max(kStep, share_->bytes()), max_ - kept);
    share_->Take(std::max(more, kept + wanted - share_->bytes()));
  }
  const size_t sure = std::min(wanted, kSureBytes - std::min(kSureBytes, stream.text.size()));
  if (share_->bytes() < kept + sure) share_->Overdraw(kept + sure - share_->bytes());
  return std::min(wanted, share_->bytes() - kept);
}

void CapturedOutput::Append(Stream stream, absl::string_view data) {
  Captured& kept = streams_[stream];
  if (kept.cut) return;  // for good: what is kept has no hole
  MakeRoom(stream, data.size());
  const size_t granted = Grant(kept, data.size());
  kept.text.append(data.data(), granted);
  kept.cut = granted < data.size();
  kept.cut_for_others = kept.cut && Kept() < max_;
}

std::string CapturedOutput::TakeText(Stream stream) {
  Captured& captured = streams_[stream];
  std::string text = std::move(captured.text);
  if (!captured.cut) return text;
  const size_t kept = text.size();
  absl::StrAppend(
      &text, "\n[plimsoll: output truncated after ", kept, " bytes",
      captured.cut_for_others ? ": the output of all commands together has reached its limit" : "",
      "]\n");
  return text;
}

}  // namespace plimsoll::runtime
