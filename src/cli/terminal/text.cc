#include "cli/terminal/text.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/text/human_bytes.h"

namespace plimsoll::cli {

std::string HumanBytes(uint64_t bytes) {
  return plimsoll::HumanBytes(bytes);
}

std::string HumanAge(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  struct Unit {
    int64_t seconds;
    const char* name;
    int64_t show_next_below;  // for smaller counts the next unit is shown too
  };
  constexpr std::array<Unit, 3> kUnits = {{{86400, "d", 8}, {3600, "h", 10}, {60, "m", 10}}};
  for (size_t i = 0; i < kUnits.size(); ++i) {
    const int64_t count = seconds / kUnits[i].seconds;
    if (count == 0) continue;
    const int64_t next_seconds = i + 1 < kUnits.size() ? kUnits[i + 1].seconds : 1;
    const char* next_name = i + 1 < kUnits.size() ? kUnits[i + 1].name : "s";
    const int64_t rest = seconds % kUnits[i].seconds / next_seconds;
    if (count >= kUnits[i].show_next_below || rest == 0) {
      return absl::StrCat(count, kUnits[i].name);
    }
    return absl::StrCat(count, kUnits[i].name, rest, next_name);
  }
  return absl::StrCat(seconds, "s");
}

std::string ShortId(absl::string_view id) {
  absl::ConsumePrefix(&id, "sha256:");
  return std::string(id.substr(0, 12));
}

std::string ShellQuote(absl::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("-_./:=@%+,").find(c) != absl::string_view::npos;
  });
  if (plain) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace plimsoll::cli
