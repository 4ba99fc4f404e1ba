#include "yaml/document_check.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "yaml/documents.h"

namespace plimsoll {
namespace {

bool IsNoncharacter(uint32_t code) {
  return (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

// Removes the first code point of `text` (RFC 3629); false if it isn't UTF-8.
bool TakeCodePoint(absl::string_view& text, uint32_t& code) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first >= 0x80 && first < 0xc2) return false;
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length > text.size()) return false;
  code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return false;
    code = code << 6 | (next & 0x3f);
  }
  text.remove_prefix(length);
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return !overlong && first < 0xf8 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// yaml-cpp goes through the whole mapping at each look at a key: the time grows with the square.
constexpr size_t kMaxKeys = 2000;

// A document takes a kilobyte, and so an empty one takes 200 times its own length.
constexpr int kMaxDocuments = 10'000;

// A reader copies an anchor's text for each alias, so a megabyte could expand without limit.
constexpr size_t kMaxAliasedBytes = size_t{16} << 20;

}  // namespace

void DocumentCheck::OnDocumentStart(const YAML::Mark& mark) {
  if (mark.pos <= last_) {
    throw YAML::ParserException(mark, kClosesNothing);
  }
  if (++documents_ > kMaxDocuments) {
    throw YamlTooLarge(mark, absl::StrCat("more than ", kMaxDocuments, " documents"));
  }
  last_ = mark.pos;
  start_ = mark;
  anchored_.clear();
}

void DocumentCheck::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  Count(mark, {.values = 1, .bytes = 0});
  if (anchor != 0) anchored_[anchor] = {.values = 1, .bytes = 0};
}

void DocumentCheck::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto of = anchored_.find(anchor);
  if (of == anchored_.end()) throw YAML::ParserException(mark, "an alias of what it is part of");
  aliased_bytes_ += of->second.bytes;
  if (aliased_bytes_ > kMaxAliasedBytes) {
    throw YamlTooLarge(
        mark, absl::StrCat("aliases of more than ", kMaxAliasedBytes >> 20, " MiB of text"));
  }
  Count(mark, of->second);
}

void DocumentCheck::OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                             const std::string& value) {
  const Size size = {.values = 1, .bytes = value.size()};
  Count(mark, size);
  if (anchor != 0) anchored_[anchor] = size;
  absl::string_view rest = value;
  uint32_t code = 0;
  while (!rest.empty()) {
    if (!TakeCodePoint(rest, code)) throw YAML::ParserException(mark, "text that is not UTF-8");
    if (IsNoncharacter(code)) {
      throw YAML::ParserException(mark, "a code point that is no character");
    }
  }
}

void DocumentCheck::OnSequenceStart(const YAML::Mark& mark, const std::string&,
                                    YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  Open(mark, anchor, /*is_mapping=*/false);
}

void DocumentCheck::OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                               YAML::EmitterStyle::value) {
  Open(mark, anchor, /*is_mapping=*/true);
}

void DocumentCheck::Open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_mapping) {
  const Size before = whole_;
  Count(mark, {.values = 1, .bytes = 0});
  open_.push_back({.is_mapping = is_mapping, .anchor = anchor, .before = before});
}

void DocumentCheck::Close() {
  const Collection& closed = open_.back();
  if (closed.anchor != 0) {
    anchored_[closed.anchor] = {.values = whole_.values - closed.before.values,
                                .bytes = whole_.bytes - closed.before.bytes};
  }
  open_.pop_back();
}

void DocumentCheck::Count(const YAML::Mark& mark, Size size) {
  bool is_key = false;
  if (!open_.empty() && open_.back().is_mapping) {
    is_key = ++open_.back().nodes % 2 == 1;
    if (open_.back().nodes > 2 * kMaxKeys) {
      throw YamlTooLarge(mark, absl::StrCat("a mapping of more than ", kMaxKeys, " keys"));
    }
  }
  whole_.bytes += size.bytes;
  whole_.values += is_key ? 0 : size.values;
  if (whole_.values > kMaxYamlValues) {
    throw YamlTooLarge(mark,
                       absl::StrCat("more than ", kMaxYamlValues, " values, aliases followed"));
  }
}

}  // namespace plimsoll
