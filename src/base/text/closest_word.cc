#include "base/text/closest_word.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"

namespace plimsoll {
namespace {

bool Same(char a, char b) {
  return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
         absl::ascii_tolower(static_cast<unsigned char>(b));
}

// The number of edits from `a` to `b`: a letter removed, added or replaced, or two neighbours
// swapped.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (Same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && Same(a[i - 1], b[j - 2]) && Same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestWord(absl::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // A three-letter word may have one letter wrong: "foo" is no misspelling of "oom".
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace plimsoll
