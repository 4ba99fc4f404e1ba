#include "nri/ttrpc/frames.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::nri {

void AppendFrames(uint32_t connection, absl::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const absl::string_view payload = bytes.substr(0, kMaxSentPayloadBytes);
    AppendNumber(connection, out);
    AppendNumber(static_cast<uint32_t>(payload.size()), out);
    out->append(payload.data(), payload.size());
    bytes.remove_prefix(payload.size());
  }
}

absl::Status FrameDecoder::Feed(absl::string_view bytes, TakeFn take) {
  while (!bytes.empty()) {
    size_t used;
    if (left_ > 0) {
      used = std::min(left_, bytes.size());
      PLIMSOLL_RETURN_IF_ERROR(take(connection_, bytes.substr(0, used)));
      left_ -= used;
    } else {
      used = std::min(kFrameHeaderBytes - header_bytes_, bytes.size());
      std::copy_n(bytes.data(), used, header_.data() + header_bytes_);
      header_bytes_ += used;
      if (header_bytes_ == kFrameHeaderBytes) PLIMSOLL_RETURN_IF_ERROR(ReadHeader());
    }
    bytes.remove_prefix(used);
  }
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadHeader() {
  const absl::string_view header(header_.data(), header_.size());
  connection_ = ReadNumber(header);
  left_ = ReadNumber(header.substr(4));
  const uint64_t begin = frames_end_;
  header_bytes_ = 0;
  frames_end_ += kFrameHeaderBytes + left_;
  if (connection_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "byte ", begin, " of the stream: a frame for connection 0, which is reserved"));
  }
  if (left_ > kMaxReceivedPayloadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", begin, " of the stream: a frame of ",
                                                   left_, " bytes for connection ", connection_,
                                                   ", longer than ", kMaxReceivedPayloadBytes));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::nri
