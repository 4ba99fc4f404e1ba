#include "streaming/spdy_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::streaming {
namespace {

// Half of each stream's initial window.
constexpr uint32_t kAcknowledgedBytes = 32 * 1024;
constexpr uint32_t kStreamIdMask = 0x7fffffff;
constexpr uint16_t kFirstStreamOfClient = 1;

absl::Status Broken(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("SPDY: ", what));
}

}  // namespace

absl::Status SpdySession::Fail(absl::Status status) {
  failed_ = true;
  AppendGoAway(last_id_, SpdyGoAway::kProtocolError, out_);
  return status;
}

absl::Status SpdySession::Receive(absl::string_view bytes) {
  if (failed_) return Broken("the connection has failed before");
  while (!bytes.empty()) {
    if (frame_.data_left > 0) {
      const size_t size = std::min<size_t>(frame_.data_left, bytes.size());
      frame_.data_left -= static_cast<uint32_t>(size);
      OnData(bytes.substr(0, size));
      bytes.remove_prefix(size);
      continue;
    }
    size_t wanted = kSpdyFrameHeaderBytes;
    if (frame_.pending.size() >= wanted) wanted += ParseSpdyFrameHeader(frame_.pending).length;
    const size_t size = std::min(wanted - frame_.pending.size(), bytes.size());
    frame_.pending.append(bytes.data(), size);
    bytes.remove_prefix(size);
    if (frame_.pending.size() < kSpdyFrameHeaderBytes) continue;
    const SpdyFrameHeader header = ParseSpdyFrameHeader(frame_.pending);
    if (!header.control) {
      frame_.pending.clear();
      if (const absl::Status begun = BeginData(header); !begun.ok()) return Fail(begun);
      continue;
    }
    if (header.length > kMaxControlBytes) {
      return Fail(absl::ResourceExhaustedError(absl::StrCat("SPDY: a control frame of ",
                                                            header.length, " bytes; at most ",
                                                            kMaxControlBytes, " are read")));
    }
    if (frame_.pending.size() < kSpdyFrameHeaderBytes + header.length) continue;
    const std::string frame = std::exchange(frame_.pending, std::string());
    const absl::Status done =
        OnControl(header, absl::string_view(frame).substr(kSpdyFrameHeaderBytes));
    if (!done.ok()) return Fail(done);
  }
  return absl::OkStatus();
}

absl::Status SpdySession::OnControl(const SpdyFrameHeader& header, absl::string_view payload) {
  if (header.version != kSpdyVersion) {
    return Broken(absl::StrCat("a frame of version ", header.version, "; 3 is spoken"));
  }
  const auto type = static_cast<SpdyType>(header.type);
  switch (type) {
    case SpdyType::kSynStream:
      return OnSynStream(header.flags, payload);
    case SpdyType::kSynReply:
      return Broken("a reply to a stream that was never opened");
    case SpdyType::kHeaders:
      return OnHeaders(header.flags, payload);
    case SpdyType::kRstStream:
      if (payload.size() != 8) return Broken("RST_STREAM of a wrong length");
      OnReset(ReadUint32(payload) & kStreamIdMask);
      return absl::OkStatus();
    case SpdyType::kPing: {
      if (payload.size() != 4) return Broken("PING of a wrong length");
      // A client's ids are odd; an even one would answer a stream of this side.
      const uint32_t id = ReadUint32(payload);
      if (id % 2 == 1) AppendPing(id, out_);
      return absl::OkStatus();
    }
    case SpdyType::kGoAway:
      if (payload.size() != 8) return Broken("GOAWAY of a wrong length");
      gone_away_ = true;
      return absl::OkStatus();
    case SpdyType::kSettings:
    case SpdyType::kWindowUpdate:
    default:
      return absl::OkStatus();
  }
}

absl::Status SpdySession::OnSynStream(uint8_t flags, absl::string_view payload) {
  if (payload.size() < 10) return Broken("SYN_STREAM of a wrong length");
  const uint32_t id = ReadUint32(payload) & kStreamIdMask;
  // Always decompress: the next block builds on this one.
  PLIMSOLL_ASSIGN_OR_RETURN(const SpdyHeaders headers, reader_.Read(payload.substr(10)));
  if (id % 2 != kFirstStreamOfClient || id <= last_id_) {
    return Broken(absl::StrCat("stream ", id, " after ", last_id_,
                               "; a client's are odd, and each is higher than the one before"));
  }
  last_id_ = id;
  if (gone_away_ || streams_.size() >= max_streams_) {
    AppendRstStream(id, SpdyReset::kRefusedStream, out_);
    return absl::OkStatus();
  }
  streams_.emplace(id, Stream());
  if (!handler_->OnStream(id, headers).ok()) {
    Reset(id, SpdyReset::kRefusedStream);
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string block, writer_.Write({}));
  AppendSynReply(id, 0, block, out_);
  handler_->OnReplied(id);
  if ((flags & kSpdyFlagFin) != 0) EndOfClient(id);
  return absl::OkStatus();
}

absl::Status SpdySession::OnHeaders(uint8_t flags, absl::string_view payload) {
  if (payload.size() < 4) return Broken("HEADERS of a wrong length");
  PLIMSOLL_RETURN_IF_ERROR(reader_.Read(payload.substr(4)).status());
  if ((flags & kSpdyFlagFin) != 0) EndOfClient(ReadUint32(payload) & kStreamIdMask);
  return absl::OkStatus();
}

void SpdySession::OnReset(uint32_t id) {
  if (streams_.erase(id) > 0) handler_->OnReset(id);
}

absl::Status SpdySession::BeginData(const SpdyFrameHeader& header) {
  if (header.stream_id == 0 || header.stream_id > last_id_) {
    return Broken(
        absl::StrCat("data of stream ", header.stream_id, ", but that stream was never opened"));
  }
  frame_.data = header;
  frame_.data_left = header.length;
  if (frame_.data_left == 0 && (header.flags & kSpdyFlagFin) != 0) EndOfClient(header.stream_id);
  return absl::OkStatus();
}

void SpdySession::OnData(absl::string_view data) {
  const uint32_t id = frame_.data.stream_id;
  const auto stream = streams_.find(id);
  // Data still under way when its stream was closed is dropped.
  if (stream != streams_.end() && stream->second.receives) {
    uint32_t& bytes = stream->second.unacknowledged;
    bytes += static_cast<uint32_t>(data.size());
    if (bytes >= kAcknowledgedBytes) {
      AppendWindowUpdate(id, bytes, out_);
      bytes = 0;
    }
  }
  // All streams use up the connection's own window (3.1), closed and short ones too.
  unacknowledged_ += static_cast<uint32_t>(data.size());
  if (unacknowledged_ >= kAcknowledgedBytes) {
    AppendWindowUpdate(0, unacknowledged_, out_);
    unacknowledged_ = 0;
  }
  if (stream != streams_.end() && stream->second.receives) handler_->OnData(id, data);
  if (frame_.data_left == 0 && (frame_.data.flags & kSpdyFlagFin) != 0) EndOfClient(id);
}

void SpdySession::EndOfClient(uint32_t id) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end() || !stream->second.receives) return;
  stream->second.receives = false;
  Forget(id);
  handler_->OnEnd(id);
}

void SpdySession::Forget(uint32_t id) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end() || stream->second.receives || stream->second.sends) return;
  streams_.erase(stream);
}

void SpdySession::Send(uint32_t id, absl::string_view data) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end() || !stream->second.sends) return;
  while (!data.empty()) {
    const absl::string_view part = data.substr(0, kMaxDataBytes);
    AppendData(id, 0, part, out_);
    data.remove_prefix(part.size());
  }
}

void SpdySession::End(uint32_t id) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end() || !stream->second.sends) return;
  stream->second.sends = false;
  AppendData(id, kSpdyFlagFin, "", out_);
  Forget(id);
}

void SpdySession::Reset(uint32_t id, SpdyReset reason) {
  if (streams_.erase(id) > 0) AppendRstStream(id, reason, out_);
}

void SpdySession::GoAway() {
  if (gone_away_) return;
  gone_away_ = true;
  AppendGoAway(last_id_, SpdyGoAway::kOk, out_);
}

}  // namespace plimsoll::streaming
