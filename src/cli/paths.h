// Paths as the user writes them.
#ifndef PLIMSOLL_CLI_PATHS_H_
#define PLIMSOLL_CLI_PATHS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// From the root on: a relative path is meant from the directory that the command was given in.
// Links and ".." stay for the kernel to follow.
absl::StatusOr<std::string> FromRoot(const std::string& path);

// A file that the user names: "-" is standard input, and a pipe (/dev/stdin, or what a shell makes
// of `<(...)`) will do. INVALID_ARGUMENT for anything else, since a FIFO that nobody writes into
// would be waited for without end; RESOURCE_EXHAUSTED above 16 MiB.
absl::StatusOr<std::string> ReadUserFile(const std::string& path);

// As ReadUserFile, but takes any file, and INVALID_ARGUMENT is a file above 4 MiB.
absl::StatusOr<std::string> ReadInput(const std::string& path);

// Into what is there, and so not in its place: it may be a link, or a device. "-" is standard
// output.
absl::Status WriteUserFile(const std::string& path, absl::string_view text);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_PATHS_H_
