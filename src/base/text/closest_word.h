// Suggestions for misspelt words.
#ifndef PLIMSOLL_BASE_TEXT_CLOSEST_WORD_H_
#define PLIMSOLL_BASE_TEXT_CLOSEST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll {

// The candidate that `word` most likely misspells: a third of its letters, but at least one, may be
// wrong, missing, added or swapped with a neighbour (with two in any word, "oom" would be suggested
// for "foo"). Empty when none is that near.
std::string ClosestWord(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_CLOSEST_WORD_H_
