#include "image/layers/byte_stream.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::image {

absl::StatusOr<size_t> FileStream::Read(char* buffer, size_t size) {
  while (true) {
    const ssize_t n = read(fd_.get(), buffer, size);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("read ", name_));
  }
}

}  // namespace plimsoll::image
