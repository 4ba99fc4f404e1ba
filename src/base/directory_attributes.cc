#include "base/directory_attributes.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <climits>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll {
namespace {

absl::Status CopyUserAttributes(int from, int to) {
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = flistxattr(from, names.data(), names.size());
  if (size < 0 && errno == EOPNOTSUPP) return absl::OkStatus();
  if (size < 0) return ErrnoStatus(errno, "list a directory's attributes");
  names.resize(static_cast<size_t>(size));
  std::string value(XATTR_SIZE_MAX, '\0');
  for (absl::string_view name : absl::StrSplit(names, '\0', absl::SkipEmpty())) {
    if (!absl::StartsWith(name, "user.") || absl::StartsWith(name, "user.overlay.")) continue;
    const std::string key(name);
    const ssize_t n = fgetxattr(from, key.c_str(), value.data(), value.size());
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read attribute ", key));
    if (fsetxattr(to, key.c_str(), value.data(), static_cast<size_t>(n), 0) == 0) continue;
    if (errno == EOPNOTSUPP) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("set attribute ", key));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyDirectoryAttributes(int from, int to, const OwnerMap& owner) {
  struct stat info = {};
  if (fstat(from, &info) != 0) return ErrnoStatus(errno, "stat a directory");
  std::pair<uid_t, gid_t> ids(info.st_uid, info.st_gid);
  if (owner) ids = owner(info.st_uid, info.st_gid);
  if (fchown(to, ids.first, ids.second) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set owner ", ids.first, ":", ids.second));
  }
  // After the owner: chown(2) may clear bits of the mode.
  if (fchmod(to, info.st_mode & 07777) != 0) return ErrnoStatus(errno, "set a directory's mode");
  PLIMSOLL_RETURN_IF_ERROR(CopyUserAttributes(from, to));
  const struct timespec times[2] = {info.st_mtim, info.st_mtim};
  if (futimens(to, times) != 0) return ErrnoStatus(errno, "set a directory's modification time");
  return absl::OkStatus();
}

}  // namespace plimsoll
