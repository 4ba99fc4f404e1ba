// Several errors reported as one.
#ifndef PLIMSOLL_BASE_TEXT_PROBLEMS_H_
#define PLIMSOLL_BASE_TEXT_PROBLEMS_H_

#include <cstddef>

#include "absl/status/status.h"

namespace plimsoll {

// The lines of problems that are told together.
inline constexpr size_t kMostProblems = 100;
// The line behind the last of them when there were more.
inline constexpr char kFurtherProblems[] = "and further ones, which were not looked at";

// Both errors' messages, each on lines of its own, with the code and hint of the first. An OK
// status adds nothing. Beyond kMostProblems lines, kFurtherProblems is the last one: gathering n
// problems takes time of order n.
absl::Status AlsoTell(const absl::Status& first, const absl::Status& second);

// True when kFurtherProblems is the last line: no problem is added any more.
bool HasFurtherProblems(const absl::Status& problems);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_PROBLEMS_H_
