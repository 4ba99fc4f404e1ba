// UTF-8 (RFC 3629), which JSON and protobuf's strings take alone.
#ifndef PLIMSOLL_BASE_TEXT_UTF8_H_
#define PLIMSOLL_BASE_TEXT_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

bool IsUtf8(absl::string_view bytes);

// The text with U+FFFD in place of each byte that belongs to no character.
std::string WithValidUtf8(absl::string_view bytes);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_UTF8_H_
