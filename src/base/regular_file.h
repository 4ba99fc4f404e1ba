// Reads files that somebody else named: anything may be in the file's place.
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

// Flags for opening such a file: don't wait for a FIFO's writer (fifo(7)), don't take a terminal.
inline constexpr int kOpenToLook = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// The kind of a file with this mode: "a FIFO", "a directory".
absl::string_view KindOfFile(mode_t mode);

// Reads the rest of a file opened with kOpenToLook. The check and the read use the same descriptor,
// so a file put in its place meanwhile changes nothing. INVALID_ARGUMENT "is a FIFO, not a regular
// file" for anything else, RESOURCE_EXHAUSTED above `max_bytes`. The errors don't name the file.
absl::StatusOr<std::string> ReadRegularFile(int fd, size_t max_bytes);

// The same for a path below `root`; the errors name it.
absl::StatusOr<std::string> ReadRegularFile(const FsRoot& root, absl::string_view relative,
                                            size_t max_bytes = 16 * 1024 * 1024);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_REGULAR_FILE_H_
