#include "resctrlfs/kernel_text.h"

#include <climits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace plimsoll::resctrlfs {
namespace {

bool HasHexPrefix(absl::string_view text) {
  return text.size() > 2 && absl::StartsWithIgnoreCase(text, "0x") && absl::ascii_isxdigit(text[2]);
}

int DigitValue(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  if (absl::ascii_isxdigit(c)) return absl::ascii_tolower(c) - 'a' + 10;
  return INT_MAX;
}

}  // namespace

std::optional<uint64_t> ParseUnsigned(absl::string_view text, int base, uint64_t max) {
  absl::ConsumePrefix(&text, "+");
  if (base == 0) base = HasHexPrefix(text) ? 16 : (absl::StartsWith(text, "0") ? 8 : 10);
  if (base == 16 && HasHexPrefix(text)) text.remove_prefix(2);
  absl::ConsumeSuffix(&text, "\n");
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    const int digit = DigitValue(c);
    if (digit >= base) return std::nullopt;
    if (value > (UINT64_MAX - static_cast<uint64_t>(digit)) / static_cast<uint64_t>(base)) {
      return std::nullopt;
    }
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  if (value > max) return std::nullopt;
  return value;
}

std::optional<int> ParseInt(absl::string_view text, int base) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (negative && absl::StartsWith(text, "+")) return std::nullopt;
  const std::optional<uint64_t> value =
      ParseUnsigned(text, base, static_cast<uint64_t>(INT_MAX) + (negative ? 1 : 0));
  if (!value) return std::nullopt;
  const int64_t magnitude = static_cast<int64_t>(*value);
  return static_cast<int>(negative ? -magnitude : magnitude);
}

absl::string_view NextPiece(std::optional<absl::string_view>* text, char separator) {
  const absl::string_view whole = **text;
  const size_t end = whole.find(separator);
  if (end == absl::string_view::npos) {
    text->reset();
    return whole;
  }
  *text = whole.substr(end + 1);
  return whole.substr(0, end);
}

}  // namespace plimsoll::resctrlfs
