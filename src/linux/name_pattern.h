// Patterns of file names.
#ifndef PLIMSOLL_LINUX_NAME_PATTERN_H_
#define PLIMSOLL_LINUX_NAME_PATTERN_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// fnmatch(3) with FNM_PERIOD, for one component of a path: '*', '?', '[...]' and '\'. In a time
// that grows with the product of both lengths: the C library's grows with their power, by the
// number of '*'.
bool MatchesName(absl::string_view pattern, absl::string_view name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAME_PATTERN_H_
