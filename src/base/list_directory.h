// Lists a directory.
#ifndef PLIMSOLL_BASE_LIST_DIRECTORY_H_
#define PLIMSOLL_BASE_LIST_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Names in an open directory, in its own order, without "." and "..". Errors call it `path`.
absl::StatusOr<std::vector<std::string>> ListDirectory(UniqueFd directory, const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_LIST_DIRECTORY_H_
