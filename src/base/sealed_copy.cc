#include "base/sealed_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll {

absl::StatusOr<UniqueFd> SealedCopy(const std::string& path, const std::string& name) {
  const UniqueFd source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!source.valid() || fstat(source.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  UniqueFd copy(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy.valid()) return ErrnoStatus(errno, absl::StrCat("memfd for ", path));
  off_t left = info.st_size;
  while (left > 0) {
    const ssize_t n = sendfile(copy.get(), source.get(), nullptr, static_cast<size_t>(left));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n == 0 ? EIO : errno, absl::StrCat("copy ", path));
    left -= n;
  }
  // Exactly the seals that crun looks for.
  if (fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0) {
    return ErrnoStatus(errno, absl::StrCat("seal the copy of ", path));
  }
  return copy;
}

}  // namespace plimsoll
