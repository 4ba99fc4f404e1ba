// Paths and files as the user names them.
#ifndef PLIMSOLL_CLI_PATHS_H_
#define PLIMSOLL_CLI_PATHS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// An absolute path: a relative one starts at the working directory. Links and ".." are left to the
// kernel.
absl::StatusOr<std::string> FromRoot(const std::string& path);

// Reads a regular file or a pipe (/dev/stdin, or the shell's `<(...)`); "-" is standard input.
// INVALID_ARGUMENT for anything else: a FIFO without a writer would be waited for without end.
// RESOURCE_EXHAUSTED above 16 MiB.
absl::StatusOr<std::string> ReadUserFile(const std::string& path);

// Reads any kind of file; "-" is standard input. INVALID_ARGUMENT above 4 MiB.
absl::StatusOr<std::string> ReadInput(const std::string& path);

// Writes into the file that is there and doesn't replace it: it may be a link, or a device. "-" is
// standard output.
absl::Status WriteUserFile(const std::string& path, absl::string_view text);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_PATHS_H_
