// The one form of a path that several spellings have.
#ifndef PLIMSOLL_BASE_TEXT_NORMAL_PATH_H_
#define PLIMSOLL_BASE_TEXT_NORMAL_PATH_H_

#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// "/b" from "//a/.././b/": the place in a tree without links. An absolute path's ".." ends at "/".
inline std::string NormalPath(absl::string_view path) {
  std::string normal = std::filesystem::path(std::string(path)).lexically_normal().string();
  // POSIX leaves the meaning of two leading slashes open; Linux has one.
  while (normal.size() > 1 && normal.compare(0, 2, "//") == 0) normal.erase(0, 1);
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_NORMAL_PATH_H_
