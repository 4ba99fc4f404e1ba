#include "nri/ttrpc/message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::nri {
namespace {

// A body is given room for at once up to here; a longer one earns its room by arriving.
constexpr size_t kTrustedBytes = 64 * 1024;

}  // namespace

std::string MessageBytes(uint32_t stream, uint8_t type, absl::string_view body) {
  std::string bytes;
  bytes.reserve(kMessageHeaderBytes + body.size());
  AppendNumber(static_cast<uint32_t>(body.size()), &bytes);
  AppendNumber(stream, &bytes);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(0);
  bytes.append(body.data(), body.size());
  return bytes;
}

absl::Status MessageDecoder::Feed(absl::string_view bytes, TakeFn take) {
  while (!bytes.empty()) {
    if (left_ == 0) {
      bytes.remove_prefix(TakeHeader(bytes));
      if (header_bytes_ == kMessageHeaderBytes) PLIMSOLL_RETURN_IF_ERROR(ReadHeader(take));
      continue;
    }
    const absl::string_view part = bytes.substr(0, left_);
    bytes.remove_prefix(part.size());
    PLIMSOLL_RETURN_IF_ERROR(TakeBody(part, take));
  }
  return absl::OkStatus();
}

size_t MessageDecoder::TakeHeader(absl::string_view bytes) {
  const size_t used = std::min(kMessageHeaderBytes - header_bytes_, bytes.size());
  std::copy_n(bytes.data(), used, header_.data() + header_bytes_);
  header_bytes_ += used;
  return used;
}

absl::Status MessageDecoder::ReadHeader(TakeFn take) {
  const absl::string_view header(header_.data(), header_.size());
  header_bytes_ = 0;
  left_ = ReadNumber(header);
  const uint64_t begin = std::exchange(messages_end_, messages_end_ + kMessageHeaderBytes + left_);
  message_ = {};
  message_.stream = ReadNumber(header.substr(4));
  message_.type = static_cast<uint8_t>(header[8]);
  message_.flags = static_cast<uint8_t>(header[9]);
  if (left_ > kMaxSkippedBytes) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", begin, ": a message of ", left_,
                                                   " bytes, longer than ", kMaxMessageBytes));
  }
  if (left_ > kMaxMessageBytes) message_.too_long = left_;
  if (left_ == 0 || message_.too_long > 0) return take(message_);
  message_.body.reserve(std::min(left_, kTrustedBytes));
  return absl::OkStatus();
}

absl::Status MessageDecoder::TakeBody(absl::string_view part, TakeFn take) {
  left_ -= part.size();
  if (message_.too_long > 0) return absl::OkStatus();
  message_.body.append(part.data(), part.size());
  if (left_ > 0) return absl::OkStatus();
  return take(std::exchange(message_, {}));
}

}  // namespace plimsoll::nri
