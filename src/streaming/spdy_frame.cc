#include "streaming/spdy_frame.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::streaming {
namespace {

constexpr uint32_t kIdMask = 0x7fffffff;

uint8_t ByteAt(absl::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

void AppendLength(uint8_t flags, size_t length, std::string* to) {
  AppendUint32(uint32_t{flags} << 24 | static_cast<uint32_t>(length & kMaxSpdyFrameBytes), to);
}

void AppendControl(SpdyType type, uint8_t flags, size_t length, std::string* to) {
  AppendUint32(0x80000000 | uint32_t{kSpdyVersion} << 16 | static_cast<uint32_t>(type), to);
  AppendLength(flags, length, to);
}

}  // namespace

uint32_t ReadUint32(absl::string_view bytes) {
  return uint32_t{ByteAt(bytes, 0)} << 24 | uint32_t{ByteAt(bytes, 1)} << 16 |
         uint32_t{ByteAt(bytes, 2)} << 8 | uint32_t{ByteAt(bytes, 3)};
}

void AppendUint32(uint32_t value, std::string* to) {
  for (const int shift : {24, 16, 8, 0}) to->push_back(static_cast<char>(value >> shift & 0xff));
}

SpdyFrameHeader ParseSpdyFrameHeader(absl::string_view bytes) {
  const uint32_t first = ReadUint32(bytes);
  const uint32_t second = ReadUint32(bytes.substr(4));
  SpdyFrameHeader header;
  header.control = first >> 31 != 0;
  if (header.control) {
    header.version = static_cast<uint16_t>(first >> 16 & 0x7fff);
    header.type = static_cast<uint16_t>(first & 0xffff);
  } else {
    header.stream_id = first & kIdMask;
  }
  header.flags = static_cast<uint8_t>(second >> 24);
  header.length = second & kMaxSpdyFrameBytes;
  return header;
}

void AppendSynStream(uint32_t stream_id, uint8_t flags, absl::string_view block, std::string* to) {
  AppendControl(SpdyType::kSynStream, flags, 10 + block.size(), to);
  AppendUint32(stream_id & kIdMask, to);
  AppendUint32(0, to);  // associated with no other stream
  to->append(2, '\0');  // highest priority, no credentials
  absl::StrAppend(to, block);
}

void AppendSynReply(uint32_t stream_id, uint8_t flags, absl::string_view block, std::string* to) {
  AppendControl(SpdyType::kSynReply, flags, 4 + block.size(), to);
  AppendUint32(stream_id & kIdMask, to);
  absl::StrAppend(to, block);
}

void AppendRstStream(uint32_t stream_id, SpdyReset reason, std::string* to) {
  AppendControl(SpdyType::kRstStream, 0, 8, to);
  AppendUint32(stream_id & kIdMask, to);
  AppendUint32(static_cast<uint32_t>(reason), to);
}

void AppendPing(uint32_t id, std::string* to) {
  AppendControl(SpdyType::kPing, 0, 4, to);
  AppendUint32(id, to);
}

void AppendGoAway(uint32_t last_stream_id, SpdyGoAway reason, std::string* to) {
  AppendControl(SpdyType::kGoAway, 0, 8, to);
  AppendUint32(last_stream_id & kIdMask, to);
  AppendUint32(static_cast<uint32_t>(reason), to);
}

void AppendWindowUpdate(uint32_t stream_id, uint32_t bytes, std::string* to) {
  AppendControl(SpdyType::kWindowUpdate, 0, 8, to);
  AppendUint32(stream_id & kIdMask, to);
  AppendUint32(bytes & kIdMask, to);
}

void AppendData(uint32_t stream_id, uint8_t flags, absl::string_view data, std::string* to) {
  AppendUint32(stream_id & kIdMask, to);
  AppendLength(flags, data.size(), to);
  absl::StrAppend(to, data);
}

}  // namespace plimsoll::streaming
