// Comparable forms of paths as clients write them.
#ifndef PLIMSOLL_RUNTIME_SPEC_PATHS_H_
#define PLIMSOLL_RUNTIME_SPEC_PATHS_H_

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// "/a/b" from "/a//b/"; "." and ".." stay.
inline std::string CleanPath(absl::string_view path) {
  std::string clean;
  for (const char c : path) {
    if (c == '/' && absl::EndsWith(clean, "/")) continue;
    clean.push_back(c);
  }
  if (clean.size() > 1 && absl::EndsWith(clean, "/")) clean.pop_back();
  return clean;
}

// Both paths are clean; `top` is not "/".
inline bool IsAtOrBelow(absl::string_view path, absl::string_view top) {
  return absl::StartsWith(path, top) && (path.size() == top.size() || path[top.size()] == '/');
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_PATHS_H_
