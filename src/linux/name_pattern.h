// Patterns of file names.
#ifndef PLIMSOLL_LINUX_NAME_PATTERN_H_
#define PLIMSOLL_LINUX_NAME_PATTERN_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// fnmatch(3) with FNM_PERIOD, for one component of a path: '*', '?', '[...]' and '\'. But '!' is a
// character like others in "[!0-3]", and only '^' negates, as in Go's filepath.Match. Takes time
// proportional to the product of both lengths; the C library's takes a power of them, more with
// each '*'.
bool MatchesName(absl::string_view pattern, absl::string_view name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAME_PATTERN_H_
