#include "base/text/printable.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace plimsoll {
namespace {

// The length in bytes of the UTF-8 sequence at the start of `text`; 0: it is not one.
size_t SequenceLength(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void AppendEscaped(uint8_t byte, std::string* out) {
  switch (byte) {
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      absl::StrAppendFormat(out, "\\x%02x", byte);
  }
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const auto first = static_cast<uint8_t>(text[0]);
    const auto second = static_cast<uint8_t>(length > 1 ? text[1] : 0);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      AppendEscaped(first, &shown);
      text.remove_prefix(1);
      continue;
    }
    if (first == 0xc2 && second < 0xa0) {  // U+0080 to U+009F
      AppendEscaped(second, &shown);
    } else {
      shown.append(text.data(), length);
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace plimsoll
