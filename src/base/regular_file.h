// Reading files that somebody else named, where anything may be in the file's place.
#ifndef PLIMSOLL_BASE_REGULAR_FILE_H_
#define PLIMSOLL_BASE_REGULAR_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll {

// Flags for opening such a file: without waiting for a FIFO's writer (fifo(7)), and without taking
// a terminal.
inline constexpr int kOpenToLook = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// What a file of this mode is: "a FIFO", "a directory".
absl::string_view KindOfFile(mode_t mode);

// The whole of a file that was opened with kOpenToLook, from where it stands: what is looked at is
// what is read, whatever is in the file's place by then. INVALID_ARGUMENT "is a FIFO, not a regular
// file" for what is none, RESOURCE_EXHAUSTED above `max_bytes`. The errors don't name the file.
absl::StatusOr<std::string> ReadRegularFile(int fd, size_t max_bytes);

// The same of a path below `root`, which the errors name.
absl::StatusOr<std::string> ReadRegularFile(const FsRoot& root, absl::string_view relative,
                                            size_t max_bytes = 16 * 1024 * 1024);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_REGULAR_FILE_H_
