// Paths and files as the user names them.
#ifndef PLIMSOLL_CLI_COMMAND_PATHS_H_
#define PLIMSOLL_CLI_COMMAND_PATHS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// An absolute path: a relative one starts at the working directory. Links and ".." are left to the
// kernel.
absl::StatusOr<std::string> FromRoot(const std::string& path);

// The bound of the manifests in one file.
inline constexpr size_t kMostManifestBytes = 4 * 1024 * 1024;

// The kinds of files that are read. A pipe is /dev/stdin or the shell's `<(...)`. A FIFO, of kAny
// alone, may have no writer, and would be waited for without end.
enum class FileKinds { kAny, kRegularOrPipe };

// Reads a file of one of these kinds; "-" is standard input, of any kind. INVALID_ARGUMENT for
// another kind and for a directory, RESOURCE_EXHAUSTED above `max_bytes`.
absl::StatusOr<std::string> ReadUserFile(const std::string& path, FileKinds kinds,
                                         size_t max_bytes);

// Writes into the file that is there and doesn't replace it: it may be a link, or a device. "-" is
// standard output.
absl::Status WriteUserFile(const std::string& path, absl::string_view text);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_PATHS_H_
