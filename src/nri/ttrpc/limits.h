// Sizes of the protocol, and its numbers' form.
#ifndef PLIMSOLL_NRI_TTRPC_LIMITS_H_
#define PLIMSOLL_NRI_TTRPC_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::nri {

// The size of the frames that we send, with their header. Go's peers read a frame into a buffer of
// 4,096 bytes and fail if it doesn't fit.
inline constexpr size_t kMaxFrameBytes = 4096;
// The size of a message's body, in both directions.
inline constexpr size_t kMaxMessageBytes = 4 * 1024 * 1024;

inline constexpr size_t kFrameHeaderBytes = 8;
inline constexpr size_t kMessageHeaderBytes = 10;

// Numbers of 32 bits on the wire are big-endian.
inline void AppendNumber(uint32_t number, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}
// The number in the first four bytes.
inline uint32_t ReadNumber(absl::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_LIMITS_H_
