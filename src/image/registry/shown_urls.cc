#include "image/registry/shown_urls.h"

#include <cstddef>
#include <vector>

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

// The printable part of a word that is or holds an address, up to its first query or fragment. It
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

size_t BackslashesBefore(absl::string_view text, size_t at) {
  size_t count = 0;
  while (count < at && text[at - count - 1] == '\\') ++count;
  return count;
}

// The double quotes that are open at a place of a text. One inside a quotation has more backslashes
// before it, as Go's %q writes it.
class Quotations {
 public:
  // A quote with so many backslashes before it.
  void Pass(size_t backslashes) {
    while (!open_.empty() && open_.back().backslashes > backslashes) open_.pop_back();
    if (!open_.empty() && open_.back().backslashes == backslashes) {
      open_.pop_back();
    } else {
      open_.push_back({backslashes, false});
    }
  }
  void NoteUrl() {
    if (!open_.empty()) open_.back().has_url = true;
  }
  bool empty() const { return open_.empty(); }
  // Whether the innermost quotation has had a URL. What follows may be part of it.
  bool has_url() const { return !open_.empty() && open_.back().has_url; }
  // Whether such a quote ends the innermost quotation.
  bool IsEnd(size_t backslashes) const { return backslashes <= open_.back().backslashes; }

 private:
  struct Quotation {
    size_t backslashes;
    bool has_url;
  };
  std::vector<Quotation> open_;
};

// The end of a URL with a query, which begins at `start`. A query may have quotes in it, and even
// spaces: Go's messages have it as the server wrote it. So it ends with its quotation, or else
// before a space.
size_t EndOfQuery(absl::string_view text, size_t start, const Quotations& quotations) {
  char closing = ' ';
  if (start > 0 && IsIn("'`<", text[start - 1])) {
    closing = text[start - 1] == '<' ? '>' : text[start - 1];
  }
  for (size_t at = start; at < text.size(); ++at) {
    if (quotations.empty()) {
      if (static_cast<unsigned char>(text[at]) <= ' ' || text[at] == closing) return at;
    } else if (text[at] == '"') {
      const size_t backslashes = BackslashesBefore(text, at);
      if (quotations.IsEnd(backslashes)) return at - backslashes;
    }
  }
  return text.size();
}

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::string WithoutUrlSecrets(absl::string_view text) {
  std::string shown;
  Quotations quotations;
  for (size_t at = 0; at < text.size();) {
    size_t length = LengthOfWord(text.substr(at));
    if (length == 0) {
      if (text[at] == '"') quotations.Pass(BackslashesBefore(text, at));
      shown.push_back(text[at++]);
      continue;
    }
    absl::string_view whole = text.substr(at, length);
    const bool is_quoted = at > 0 && IsIn(kQuotes, text[at - 1]);
    if (absl::StrContains(whole, kScheme)) quotations.NoteUrl();
    const bool may_be_url = is_quoted || quotations.has_url() || absl::StartsWith(whole, "/") ||
                            absl::StrContains(whole, kScheme);
    if (may_be_url && whole.find_first_of(kQueryOrFragment) != absl::string_view::npos) {
      length = EndOfQuery(text, at, quotations) - at;
      whole = text.substr(at, length);
    }
    const absl::string_view word = WithoutPunctuation(whole);
    absl::StrAppend(&shown, may_be_url ? ShownOfUrls(word) : std::string(word));
    absl::StrAppend(&shown, whole.substr(word.size()));
    at += length;
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
