#include "base/text/quoted.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace plimsoll {

std::string Shorten(absl::string_view text) {
  constexpr size_t kLongest = 80;
  if (text.size() <= kLongest) return std::string(text);
  size_t end = kLongest;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Printable(Shorten(text)), "\"");
}

}  // namespace plimsoll
