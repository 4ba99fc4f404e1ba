#include "image/layers/lower_file.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr size_t kCopyBytes = 128 * 1024;

// Copies the data from `offset` to `end`, which has no holes.
absl::Status CopyData(int from, int to, off_t offset, off_t end, const WriteFn& write) {
  std::vector<char> buffer(kCopyBytes);
  while (offset < end) {
    const size_t want = std::min(buffer.size(), static_cast<size_t>(end - offset));
    const ssize_t n = pread(from, buffer.data(), want, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read the lower layer's file");
    if (n == 0) return absl::DataLossError("the lower layer's file became shorter");
    PLIMSOLL_RETURN_IF_ERROR(write(to, static_cast<uint64_t>(offset),
                                   absl::string_view(buffer.data(), static_cast<size_t>(n))));
    offset += n;
  }
  return absl::OkStatus();
}

absl::Status CopyContent(int from, int to, off_t size, const WriteFn& write) {
  if (ftruncate(to, size) != 0) return ErrnoStatus(errno, "set the file's size");
  for (off_t at = 0; at < size;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return absl::OkStatus();  // a hole to the end
    if (data < 0) return ErrnoStatus(errno, "find data of the lower layer's file");
    const off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole < 0) return ErrnoStatus(errno, "find a hole of the lower layer's file");
    PLIMSOLL_RETURN_IF_ERROR(CopyData(from, to, data, hole, write));
    at = hole;
  }
  return absl::OkStatus();
}

absl::Status CopyAttributes(int from, int to) {
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = flistxattr(from, names.data(), names.size());
  if (size < 0 && errno == EOPNOTSUPP) return absl::OkStatus();
  if (size < 0) return ErrnoStatus(errno, "list the lower layer's file's attributes");
  names.resize(static_cast<size_t>(size));
  std::string value(XATTR_SIZE_MAX, '\0');
  for (const absl::string_view name : absl::StrSplit(names, '\0', absl::SkipEmpty())) {
    const bool is_users =
        absl::StartsWith(name, "user.") && !absl::StartsWith(name, "user.overlay.");
    if (!is_users && name != "security.capability") continue;
    const std::string key(name);
    const ssize_t n = fgetxattr(from, key.c_str(), value.data(), value.size());
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read attribute ", key));
    if (fsetxattr(to, key.c_str(), value.data(), static_cast<size_t>(n), 0) != 0) {
      return ErrnoStatus(errno, absl::StrCat("set attribute ", key));
    }
  }
  return absl::OkStatus();
}

absl::Status CopyRegular(const LowerFile& from, int to, const std::string& name,
                         const WriteFn& write) {
  const std::string path = absl::StrCat("/proc/self/fd/", from.fd.get());
  const UniqueFd source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) return ErrnoStatus(errno, "open the lower layer's file");
  const UniqueFd target(
      openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.valid()) return ErrnoStatus(errno, "create the file");
  PLIMSOLL_RETURN_IF_ERROR(CopyContent(source.get(), target.get(), from.info.st_size, write));
  // chown(2) clears setuid and security.capability, so the order matters.
  if (fchown(target.get(), from.info.st_uid, from.info.st_gid) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set owner ", from.info.st_uid, ":", from.info.st_gid));
  }
  if (fchmod(target.get(), from.info.st_mode & 07777) != 0) {
    return ErrnoStatus(errno, "set the mode");
  }
  return CopyAttributes(source.get(), target.get());
}

absl::Status CopySpecial(const LowerFile& from, int to, const std::string& name) {
  if (S_ISLNK(from.info.st_mode)) {
    char text[PATH_MAX];
    const ssize_t n = readlinkat(from.fd.get(), "", text, sizeof(text));
    if (n < 0) return ErrnoStatus(errno, "read the lower layer's link");
    const std::string target(text, static_cast<size_t>(n));
    if (symlinkat(target.c_str(), to, name.c_str()) != 0) {
      return ErrnoStatus(errno, "make the symbolic link");
    }
  } else if (mknodat(to, name.c_str(), from.info.st_mode, from.info.st_rdev) != 0) {
    return ErrnoStatus(errno, "make the device node");
  }
  if (fchownat(to, name.c_str(), from.info.st_uid, from.info.st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set owner ", from.info.st_uid, ":", from.info.st_gid));
  }
  if (S_ISLNK(from.info.st_mode)) return absl::OkStatus();
  if (fchmodat(to, name.c_str(), from.info.st_mode & 07777, 0) != 0) {
    return ErrnoStatus(errno, "set the mode");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyLowerFile(const LowerFile& from, int to, const std::string& name,
                           const WriteFn& write) {
  PLIMSOLL_RETURN_IF_ERROR(S_ISREG(from.info.st_mode) ? CopyRegular(from, to, name, write)
                                                      : CopySpecial(from, to, name));
  const struct timespec times[2] = {from.info.st_mtim, from.info.st_mtim};
  if (utimensat(to, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus(errno, "set the modification time");
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::image
