#include "cli/terminal/reader_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/status.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"

namespace plimsoll::cli {
namespace {

std::atomic<bool> watched = false;

// A file never has an end of its reader, and a terminal's comes as SIGHUP.
bool CanLoseItsReader() {
  struct stat info = {};
  return fstat(STDOUT_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

ReaderWatch::ReaderWatch() : end_(eventfd(0, EFD_CLOEXEC)) {
  watched = true;
  if (end_.valid() && CanLoseItsReader()) thread_ = std::thread([this] { Loop(); });
}

ReaderWatch::~ReaderWatch() {
  watched = false;
  if (!thread_.joinable()) return;
  eventfd_write(end_.get(), 1);
  thread_.join();
}

void ReaderWatch::Loop() const {
  while (true) {
    std::array<pollfd, 2> look = {pollfd{STDOUT_FILENO, 0, 0}, pollfd{end_.get(), POLLIN, 0}};
    if (poll(look.data(), look.size(), /*timeout=*/-1) < 0 && errno != EINTR) return;
    if (look[1].revents != 0) return;
    if ((look[0].revents & (POLLERR | POLLHUP)) != 0) std::_Exit(kExitNoReader);
  }
}

void OnFailedPrint(int error) {
  if (!watched) return;
  if (error == EPIPE) std::_Exit(kExitNoReader);
  PrintNote(FormatError(ErrnoStatus(error, "write to standard output")));
  std::_Exit(kExitError);
}

}  // namespace plimsoll::cli
