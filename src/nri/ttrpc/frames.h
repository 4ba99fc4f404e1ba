// The frames in which the connections of a multiplexed socket share its stream: 4 bytes connection
// id, 4 bytes length of the payload, payload; numbers are big-endian.
#ifndef PLIMSOLL_NRI_TTRPC_FRAMES_H_
#define PLIMSOLL_NRI_TTRPC_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nri/ttrpc/limits.h"

namespace plimsoll::nri {

inline constexpr size_t kMaxSentPayloadBytes = kMaxFrameBytes - kFrameHeaderBytes;
// The longest payload that Go's peers write: a whole message.
inline constexpr size_t kMaxReceivedPayloadBytes = kMessageHeaderBytes + kMaxMessageBytes;

// Appends to `out` the frames that carry `bytes`.
void AppendFrames(uint32_t connection, absl::string_view bytes, std::string* out);

// Takes a stream apart, wherever its pieces are cut. Keeps no payload.
class FrameDecoder {
 public:
  // Gets a part of a connection's bytes; never an empty one.
  using TakeFn = absl::FunctionRef<absl::Status(uint32_t connection, absl::string_view part)>;

  // INVALID_ARGUMENT names the byte of the stream at which a wrong header begins: the reserved
  // connection 0, or a payload longer than kMaxReceivedPayloadBytes. That, and the first error of
  // `take`, end the decoder's use.
  absl::Status Feed(absl::string_view bytes, TakeFn take);

  // The stream may end here without a frame being cut.
  bool IsBetweenFrames() const { return header_bytes_ == 0 && left_ == 0; }

 private:
  absl::Status ReadHeader();

  std::array<char, kFrameHeaderBytes> header_ = {};
  size_t header_bytes_ = 0;  // of the header being read
  uint32_t connection_ = 0;
  size_t left_ = 0;          // of the payload being read
  uint64_t frames_end_ = 0;  // where in the stream the frame being read ends
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_FRAMES_H_
