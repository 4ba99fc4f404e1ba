// The dictionary with which both ends of a SPDY/3 connection compress headers (SPDY/3.1, section
// 2.6.10.1): 1,423 bytes, Adler-32 0xe3c6a7c2.
#ifndef PLIMSOLL_STREAMING_SPDY_DICTIONARY_H_
#define PLIMSOLL_STREAMING_SPDY_DICTIONARY_H_

#include <cstdint>

#include "absl/types/span.h"

namespace plimsoll::streaming {

absl::Span<const uint8_t> SpdyDictionary();

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SPDY_DICTIONARY_H_
