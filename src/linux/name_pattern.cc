#include "linux/name_pattern.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/utf8.h"

namespace plimsoll::linux {
namespace {

// Removes the first character of `text` (not empty). Code points compare as their bytes do.
absl::string_view TakeCharacter(absl::string_view& text) {
  size_t length = 1;
  for (const size_t longer : {size_t{2}, size_t{3}, size_t{4}}) {
    if (static_cast<unsigned char>(text[0]) < 0x80 || longer > text.size()) break;
    if (!IsUtf8(text.substr(0, longer))) continue;
    length = longer;
    break;
  }
  const absl::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

// The next character of a set, which must not be its last one. nullopt: it is malformed.
std::optional<absl::string_view> TakeOfSet(absl::string_view& text) {
  if (text.empty() || text[0] == '-' || text[0] == ']') return std::nullopt;
  absl::ConsumePrefix(&text, "\\");
  if (text.empty()) return std::nullopt;
  const absl::string_view character = TakeCharacter(text);
  if (text.empty()) return std::nullopt;
  return character;
}

}  // namespace

bool NamePattern::Piece::Matches(absl::string_view character) const {
  if (kind == Kind::kAny) return true;
  const bool is_in = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return range.first <= character && character <= range.second;
  });
  return is_in != negated;
}

bool NamePattern::ReadSet(absl::string_view& text, Piece& piece) {
  piece.negated = absl::ConsumePrefix(&text, "^");
  while (piece.ranges.empty() || !absl::ConsumePrefix(&text, "]")) {
    const auto first = TakeOfSet(text);
    if (!first) return false;
    auto last = first;
    if (absl::ConsumePrefix(&text, "-")) last = TakeOfSet(text);
    if (!last) return false;
    piece.ranges.emplace_back(*first, *last);
  }
  return true;
}

absl::StatusOr<NamePattern> NamePattern::Parse(absl::string_view text) {
  NamePattern pattern;
  absl::string_view rest = text;
  while (!rest.empty()) {
    Piece piece;
    if (absl::ConsumePrefix(&rest, "*")) {
      piece.kind = Piece::Kind::kStar;
    } else if (absl::ConsumePrefix(&rest, "?")) {
      piece.kind = Piece::Kind::kAny;
    } else if (absl::ConsumePrefix(&rest, "[")) {
      if (!ReadSet(rest, piece)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "\"", text, "\" is no valid pattern: a bracket is not closed, or '-' or ']' in it has ",
            "no '\\' before it"));
      }
    } else {
      absl::ConsumePrefix(&rest, "\\");
      if (rest.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", text, "\" is no valid pattern: it ends with '\\'"));
      }
      const absl::string_view character = TakeCharacter(rest);
      piece.ranges.emplace_back(character, character);
    }
    pattern.pieces_.push_back(std::move(piece));
  }
  return pattern;
}

bool NamePattern::Matches(absl::string_view name) const {
  size_t at = 0;
  // The piece after the last '*', and the place in the name to try it at next. An earlier '*' need
  // never match more.
  std::optional<size_t> after_star;
  absl::string_view tried;
  while (!name.empty()) {
    if (at < pieces_.size() && pieces_[at].kind == Piece::Kind::kStar) {
      after_star = ++at;
      tried = name;
      continue;
    }
    absl::string_view rest = name;
    if (at < pieces_.size() && pieces_[at].Matches(TakeCharacter(rest))) {
      ++at;
      name = rest;
      continue;
    }
    if (!after_star) return false;
    TakeCharacter(tried);
    name = tried;
    at = *after_star;
  }
  return std::all_of(pieces_.begin() + static_cast<ptrdiff_t>(at), pieces_.end(),
                     [](const Piece& piece) { return piece.kind == Piece::Kind::kStar; });
}

}  // namespace plimsoll::linux
