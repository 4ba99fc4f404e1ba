// Paths as the user writes them.
#ifndef PLIMSOLL_CLI_PATHS_H_
#define PLIMSOLL_CLI_PATHS_H_

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::cli {

// From the root on: a relative path is meant from the directory that the command was given in.
// Links and ".." stay for the kernel to follow.
absl::StatusOr<std::string> FromRoot(const std::string& path);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_PATHS_H_
