#include "base/regular_file.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {

absl::string_view KindOfFile(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "of an unknown kind";
  }
}

absl::StatusOr<std::string> ReadRegularFile(int fd, size_t max_bytes) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", KindOfFile(info.st_mode), ", not a regular file"));
  }
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) return text;
    if (text.size() + static_cast<size_t>(n) > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("is larger than ", max_bytes, " bytes"));
    }
    text.append(buffer, static_cast<size_t>(n));
  }
}

absl::StatusOr<std::string> ReadRegularFile(const FsRoot& root, absl::string_view relative,
                                            size_t max_bytes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, root.OpenFile(relative, kOpenToLook));
  absl::StatusOr<std::string> text = ReadRegularFile(fd.get(), max_bytes);
  if (!text.ok()) return Annotate(text.status(), root.PathOf(relative));
  return text;
}

}  // namespace plimsoll
