#include "pod_runner/sub_path.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

// A dangling link is not followed: the container would choose the directory's place.
absl::Status MakeMissing(const FsRoot& directory, const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat volume, directory.Stat("."));
  std::string path;
  for (const absl::string_view part : absl::StrSplit(sub_path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&path, path.empty() ? "" : "/", part);
    const absl::StatusOr<bool> there = directory.Has(path);
    PLIMSOLL_RETURN_IF_ERROR(there.status());
    if (*there) continue;
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(path, volume.st_mode & 0777));
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd made,
                              directory.OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    // mkdir obeys the umask.
    if (fchmod(made.get(), volume.st_mode & 0777) != 0) {
      return ErrnoStatus(errno, absl::StrCat("chmod ", directory.PathOf(path)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ResolveSubPath(const FsRoot& root, const std::string& volume,
                                           const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(volume));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd found, directory.OpenFile(sub_path, O_PATH));
  // Read by its path: FsRoot follows no link of /proc/self/fd.
  char path[PATH_MAX];
  const std::string link = absl::StrCat("/proc/self/fd/", found.get());
  const ssize_t n = readlink(link.c_str(), path, sizeof(path));
  if (n < 0) return ErrnoStatus(errno, absl::StrCat("resolve ", directory.PathOf(sub_path)));
  return std::string(path, static_cast<size_t>(n));
}

absl::StatusOr<std::string> MakeSubPath(const FsRoot& root, const std::string& volume,
                                        const std::string& sub_path) {
  absl::StatusOr<std::string> found = ResolveSubPath(root, volume, sub_path);
  if (!absl::IsNotFound(found.status())) return found;
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(volume));
  PLIMSOLL_RETURN_IF_ERROR(MakeMissing(directory, sub_path));
  return ResolveSubPath(root, volume, sub_path);
}

}  // namespace plimsoll::pod
