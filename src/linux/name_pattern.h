// Patterns of file names.
#ifndef PLIMSOLL_LINUX_NAME_PATTERN_H_
#define PLIMSOLL_LINUX_NAME_PATTERN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// A pattern for one component of a path, with the meaning of Go's filepath.Match: '*', '?', '\' and
// '[...]', in which only '^' negates. Unlike a shell's, '*' and '?' match a leading dot, and
// "[[:alpha:]]" is a list of characters before a ']'. A character is one of UTF-8; a byte that
// belongs to none is one too.
class NamePattern {
 public:
  // INVALID_ARGUMENT where filepath.Match has ErrBadPattern: a '[' without its ']', a '\' at the
  // end, '-' or ']' at a place of a character in brackets ("[]a]", "[a-]").
  static absl::StatusOr<NamePattern> Parse(absl::string_view text);

  // Takes time proportional to the product of both lengths.
  bool Matches(absl::string_view name) const;

 private:
  struct Piece {
    enum class Kind { kStar, kAny, kSet } kind = Kind::kSet;
    bool negated = false;
    // First and last characters, inclusive. A literal is a set of one range.
    std::vector<std::pair<std::string, std::string>> ranges;

    bool Matches(absl::string_view character) const;
  };
  // Reads a set from behind its '['. False: it is malformed.
  static bool ReadSet(absl::string_view& text, Piece& piece);

  std::vector<Piece> pieces_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAME_PATTERN_H_
