#include "cli/sub_path.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::cli {

absl::StatusOr<std::string> ResolveSubPath(const FsRoot& root, const std::string& volume,
                                           const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(volume));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd found, directory.OpenFile(sub_path, O_PATH));
  // By its path: FsRoot follows no link of /proc/self/fd.
  char path[PATH_MAX];
  const std::string link = absl::StrCat("/proc/self/fd/", found.get());
  const ssize_t n = readlink(link.c_str(), path, sizeof(path));
  if (n < 0) return ErrnoStatus(errno, absl::StrCat("resolve ", directory.PathOf(sub_path)));
  return std::string(path, static_cast<size_t>(n));
}

}  // namespace plimsoll::cli
