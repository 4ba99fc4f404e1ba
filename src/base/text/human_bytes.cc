#include "base/text/human_bytes.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll {

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string number = absl::StrFormat("%.*f", decimals, value);
  if (decimals > 0) {
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
  }
  return absl::StrCat(number, " ", kUnits[unit]);
}

std::string BytesInWords(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  return absl::StrCat(HumanBytes(bytes), " (", bytes, " bytes)");
}

}  // namespace plimsoll
