#include "cli/stream_commands/detach_keys.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::cli {

absl::StatusOr<std::string> ParseDetachKeys(const std::string& text) {
  std::string keys;
  if (text.empty()) return keys;
  for (absl::string_view key : absl::StrSplit(text, ',')) {
    const bool control = absl::ConsumePrefix(&key, "ctrl-");
    const bool one = key.size() == 1 && absl::ascii_isgraph(static_cast<unsigned char>(key[0]));
    const char upper = one ? absl::ascii_toupper(static_cast<unsigned char>(key[0])) : '\0';
    if (!one || (control && (upper < '@' || upper > '_'))) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" are no keys, as ",
                                                     kDefaultDetachKeys, " or ctrl-],q would be"));
    }
    // On a terminal Ctrl clears the upper bits of a character.
    keys += control ? static_cast<char>(upper & 0x1f) : key[0];
  }
  return keys;
}

std::string DetachKeys::Pass(absl::string_view typed) {
  if (keys_.empty()) return std::string(typed);
  std::string passed;
  for (const char byte : typed) {
    if (found_) break;
    held_ += byte;
    while (!absl::StartsWith(keys_, held_)) {
      passed += held_[0];
      held_.erase(0, 1);
    }
    found_ = held_ == keys_;
  }
  return passed;
}

}  // namespace plimsoll::cli
