#include "image/shown_urls.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kQuotes = "\"'`<>\\";
constexpr absl::string_view kScheme = "://";
constexpr absl::string_view kQueryOrFragment = "?#";
// Behind a URL they belong to the sentence around it.
constexpr absl::string_view kPunctuation = ":;,.)]}";

bool IsIn(absl::string_view set, char c) {
  return set.find(c) != absl::string_view::npos;
}

bool Ends(char c) {
  return static_cast<unsigned char>(c) <= ' ' || IsIn(kQuotes, c);
}

// The length of the word at the beginning of `text`: up to a space or a quote.
size_t LengthOfWord(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && !Ends(text[length])) ++length;
  return length;
}

// A word without the punctuation at its end.
absl::string_view WithoutPunctuation(absl::string_view word) {
  while (!word.empty() && IsIn(kPunctuation, word.back())) word.remove_suffix(1);
  return word;
}

// What may be shown of a word that is or holds an address, up to its first query or fragment. It
// may hold several URLs ("https://h/a,https://h/b").
std::string ShownOfUrls(absl::string_view word) {
  word = word.substr(0, word.find_first_of(kQueryOrFragment));
  std::string shown;
  for (size_t scheme = 0; (scheme = word.find(kScheme)) != absl::string_view::npos;) {
    absl::StrAppend(&shown, word.substr(0, scheme + kScheme.size()));
    word.remove_prefix(scheme + kScheme.size());
    const size_t at = word.substr(0, word.find('/')).rfind('@');
    if (at != absl::string_view::npos) word.remove_prefix(at + 1);
  }
  return absl::StrCat(shown, word);
}

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::string WithoutUrlSecrets(absl::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = LengthOfWord(text);
    if (length == 0) {
      shown.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    const absl::string_view whole = text.substr(0, length);
    const absl::string_view word = WithoutPunctuation(whole);
    const bool is_quoted = !shown.empty() && IsIn(kQuotes, shown.back());
    const bool may_be_url =
        is_quoted || absl::StartsWith(word, "/") || absl::StrContains(word, kScheme);
    absl::StrAppend(&shown, may_be_url ? ShownOfUrls(word) : std::string(word));
    absl::StrAppend(&shown, whole.substr(word.size()));
    text.remove_prefix(length);
  }
  return shown;
}

std::string WithoutWord(absl::string_view text, absl::string_view secret) {
  std::string shown;
  if (secret.empty()) return std::string(text);
  while (!text.empty()) {
    const size_t found = text.find(secret);
    if (found == absl::string_view::npos) break;
    const size_t end = found + secret.size();
    const char before = found > 0 ? text[found - 1] : shown.empty() ? ' ' : shown.back();
    const bool is_alone = !(IsOfWord(before) && IsOfWord(secret.front())) &&
                          !(end < text.size() && IsOfWord(text[end]) && IsOfWord(secret.back()));
    if (is_alone) {
      absl::StrAppend(&shown, text.substr(0, found), "[redacted]");
      text.remove_prefix(end);
    } else {
      absl::StrAppend(&shown, text.substr(0, found + 1));
      text.remove_prefix(found + 1);
    }
  }
  absl::StrAppend(&shown, text);
  return shown;
}

}  // namespace plimsoll::image
