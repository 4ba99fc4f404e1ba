#include "kube/publish/short_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"

namespace plimsoll::kube {

std::string ShortText(absl::string_view text, size_t longest) {
  // The end of a cut may be a part of a character, which is escaped: cut off with the rest.
  std::string whole = Printable(text.substr(0, longest + 4));
  if (whole.size() <= longest && text.size() <= longest) return whole;
  constexpr absl::string_view kCut = "...";
  size_t end = std::min(whole.size(), longest > kCut.size() ? longest - kCut.size() : 0);
  // Not within a character: its further bytes begin with the bits 10.
  while (end > 0 && end < whole.size() && (static_cast<uint8_t>(whole[end]) & 0xc0) == 0x80) --end;
  whole.resize(end);
  return absl::StrCat(whole, kCut);
}

std::string FirstFew(const std::vector<std::string>& sentences, size_t most) {
  const size_t shown = std::min(most, sentences.size());
  std::string text =
      absl::StrJoin(sentences.begin(), sentences.begin() + static_cast<long>(shown), "; ");
  if (shown < sentences.size()) {
    absl::StrAppend(&text, "; and ", sentences.size() - shown, " more");
  }
  return text;
}

}  // namespace plimsoll::kube
