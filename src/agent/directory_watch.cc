#include "agent/directory_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

constexpr uint32_t kFileChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

absl::StatusOr<std::unique_ptr<DirectoryWatch>> DirectoryWatch::Start(Options options) {
  UniqueFd notify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notify.valid()) return ErrnoStatus(errno, "inotify_init1");
  auto watch =
      std::unique_ptr<DirectoryWatch>(new DirectoryWatch(std::move(options), std::move(notify)));
  DirectoryWatch* const self = watch.get();
  PLIMSOLL_ASSIGN_OR_RETURN(
      watch->watch_,
      linux::QuietWatch::Start(
          {.quiet = self->options_.quiet, .at_most = absl::Seconds(2), .first = absl::Now()},
          {{.fd = self->notify_.get(),
            .events = POLLIN,
            .heard = [self](short) { return self->Hear(); }}},
          [self] { return self->Look(); }));
  return watch;
}

DirectoryWatch::~DirectoryWatch() = default;

bool DirectoryWatch::Hear() {
  alignas(inotify_event) char buffer[4096];
  bool heard = false;
  while (read(notify_.get(), buffer, sizeof(buffer)) > 0) heard = true;
  return heard;
}

absl::Time DirectoryWatch::Look() {
  // Adding a watch again changes nothing; a directory put in the place of another gets its own. A
  // change after this is heard, one before it is seen.
  inotify_add_watch(notify_.get(), options_.path.c_str(), kFileChanges);
  options_.look();
  return absl::Now() + options_.look_anyway;
}

}  // namespace plimsoll::agent
