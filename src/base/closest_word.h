// Suggestions for misspelt words.
#ifndef PLIMSOLL_BASE_CLOSEST_WORD_H_
#define PLIMSOLL_BASE_CLOSEST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll {

// The candidate that `word` is most likely a misspelling of: a third of its letters, at least one,
// may be wrong, missing, too many or in the place of its neighbour. Empty when none is near.
std::string ClosestWord(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CLOSEST_WORD_H_
