// Frames of SPDY/3.1 (section 2.2), as bytes. All integers are big-endian.
//
//   control frame   1 bit 1 | version (15) | type (16) | flags (8) | length (24) | ...
//   data frame      1 bit 0 | stream (31)              | flags (8) | length (24) | ...
#ifndef PLIMSOLL_STREAMING_SPDY_FRAME_H_
#define PLIMSOLL_STREAMING_SPDY_FRAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::streaming {

inline constexpr uint16_t kSpdyVersion = 3;
inline constexpr size_t kSpdyFrameHeaderBytes = 8;
inline constexpr uint32_t kMaxSpdyFrameBytes = (1 << 24) - 1;  // bytes after the header

enum class SpdyType : uint16_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

inline constexpr uint8_t kSpdyFlagFin = 1;  // the sender sends no more on this stream

enum class SpdyReset : uint32_t {
  kProtocolError = 1,
  kInvalidStream = 2,
  kRefusedStream = 3,
  kCancel = 5,
  kInternalError = 6,
  kStreamAlreadyClosed = 9,
};

enum class SpdyGoAway : uint32_t { kOk = 0, kProtocolError = 1, kInternalError = 2 };

struct SpdyFrameHeader {
  bool control = false;
  uint16_t version = 0;    // for a control frame
  uint16_t type = 0;       // for a control frame; types other than SpdyType's are to be ignored
  uint32_t stream_id = 0;  // for a data frame
  uint8_t flags = 0;
  uint32_t length = 0;  // of the payload
};

// `bytes` holds at least a header.
SpdyFrameHeader ParseSpdyFrameHeader(absl::string_view bytes);

// `bytes` holds at least four.
uint32_t ReadUint32(absl::string_view bytes);
void AppendUint32(uint32_t value, std::string* to);

// Each appends one whole frame. `block` comes from a SpdyHeaderWriter.
void AppendSynStream(uint32_t stream_id, uint8_t flags, absl::string_view block, std::string* to);
void AppendSynReply(uint32_t stream_id, uint8_t flags, absl::string_view block, std::string* to);
void AppendRstStream(uint32_t stream_id, SpdyReset reason, std::string* to);
void AppendPing(uint32_t id, std::string* to);
void AppendGoAway(uint32_t last_stream_id, SpdyGoAway reason, std::string* to);
void AppendWindowUpdate(uint32_t stream_id, uint32_t bytes, std::string* to);
// `data` has at most kMaxSpdyFrameBytes.
void AppendData(uint32_t stream_id, uint8_t flags, absl::string_view data, std::string* to);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SPDY_FRAME_H_
