#include "base/programs/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/status.h"

namespace plimsoll {

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

absl::Status SetNonBlocking(const UniqueFd& fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set a pipe to non-blocking");
  }
  return absl::OkStatus();
}

size_t ReadSome(UniqueFd* reader, absl::FunctionRef<void(absl::string_view)> take) {
  char buffer[65536];
  ssize_t n = -1;
  do {
    n = read(reader->get(), buffer, sizeof(buffer));
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n <= 0) {
    reader->Reset();
    return 0;
  }
  take({buffer, static_cast<size_t>(n)});
  return static_cast<size_t>(n);
}

}  // namespace plimsoll
