#include "base/programs/sealed_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll {

namespace {

constexpr mode_t kCopyMode = 0755;

// Errors call the source `text`.
absl::StatusOr<UniqueFd> CopyOf(int source, const std::string& name, const std::string& text) {
  struct stat info = {};
  if (fstat(source, &info) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", text));
  UniqueFd copy(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy.valid()) return ErrnoStatus(errno, absl::StrCat("memfd for ", text));
  off_t offset = 0;
  while (offset < info.st_size) {
    const size_t left = static_cast<size_t>(info.st_size - offset);
    const ssize_t n = sendfile(copy.get(), source, &offset, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n == 0 ? EIO : errno, absl::StrCat("copy ", text));
  }
  if (fchmod(copy.get(), kCopyMode) != 0) return ErrnoStatus(errno, absl::StrCat("chmod ", text));
  // Exactly the seals that crun looks for.
  if (fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0) {
    return ErrnoStatus(errno, absl::StrCat("seal the copy of ", text));
  }
  return copy;
}

}  // namespace

absl::StatusOr<UniqueFd> SealedCopy(const std::string& path, const std::string& name) {
  const UniqueFd source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return CopyOf(source.get(), name, path);
}

absl::Status RenewIfTouched(int copy, const std::string& name) {
  struct stat info = {};
  if (fstat(copy, &info) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", name));
  if ((info.st_mode & 07777) == kCopyMode && info.st_uid == geteuid() && info.st_gid == getegid()) {
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fresh, CopyOf(copy, name, name));
  if (dup3(fresh.get(), copy, O_CLOEXEC) < 0) {
    return ErrnoStatus(errno, absl::StrCat("replace the copy of ", name));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
