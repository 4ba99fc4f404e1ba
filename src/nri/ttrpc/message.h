// ttrpc's messages: 4 bytes length of the body, 4 bytes stream id, 1 byte type, 1 byte flags, body;
// numbers are big-endian. A stream is one call, and the caller's ids are odd and grow.
#ifndef PLIMSOLL_NRI_TTRPC_MESSAGE_H_
#define PLIMSOLL_NRI_TTRPC_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nri/ttrpc/limits.h"

namespace plimsoll::nri {

inline constexpr uint8_t kRequestMessage = 1;
inline constexpr uint8_t kResponseMessage = 2;
inline constexpr uint8_t kDataMessage = 3;  // of a stream; no call of this protocol is one

// A message that is too long for us, but no longer than this, is read to its end and refused alone.
// A longer one can't be meant: it ends the connection.
inline constexpr size_t kMaxSkippedBytes = 16 * kMaxMessageBytes;

struct Message {
  uint32_t stream = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  std::string body;
  size_t too_long = 0;  // the length of a body that was left out for it
};

// The bytes of a message; its body must be at most kMaxMessageBytes long.
std::string MessageBytes(uint32_t stream, uint8_t type, absl::string_view body);

// Takes one connection's bytes apart, wherever they are cut. Holds one body at most, and of that
// no more than has arrived.
class MessageDecoder {
 public:
  // A message with a body that is too long is given at its header.
  using TakeFn = absl::FunctionRef<absl::Status(Message message)>;

  // INVALID_ARGUMENT names the byte of the connection at which a message longer than
  // kMaxSkippedBytes begins. That, and the first error of `take`, end the decoder's use.
  absl::Status Feed(absl::string_view bytes, TakeFn take);

  // The connection may end here without a message being cut.
  bool IsBetweenMessages() const { return header_bytes_ == 0 && left_ == 0; }

 private:
  size_t TakeHeader(absl::string_view bytes);
  absl::Status ReadHeader(TakeFn take);
  absl::Status TakeBody(absl::string_view part, TakeFn take);

  std::array<char, kMessageHeaderBytes> header_ = {};
  size_t header_bytes_ = 0;  // of the header being read
  Message message_;
  size_t left_ = 0;            // of the body being read
  uint64_t messages_end_ = 0;  // where in the connection the message being read ends
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_MESSAGE_H_
