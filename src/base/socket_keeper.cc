#include "base/socket_keeper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll {
namespace {

constexpr int kAgainMilliseconds = 1000;
// inotify(7) says nothing of a mount over the directory, of a rename further up, and of a symbolic
// link on the way that leads elsewhere now.
constexpr int kUnheardMilliseconds = 5000;

// lstat(2)'s errors for a path that leads to no file. Others may pass, and say nothing of the file.
bool SaysThereIsNone(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

// A directory that has been replaced is another one: it needs a watch of its own.
bool WatchDirectoryOf(const UniqueFd& changes, const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return inotify_add_watch(changes.get(), directory.c_str(),
                           IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                               IN_ONLYDIR) >= 0;
}

}  // namespace

SocketKeeper::SocketKeeper(SocketFile socket, std::function<void(UniqueFd)> serve,
                           std::function<void(const absl::Status&)> tell, UniqueFd changes,
                           UniqueFd stop, UniqueFd listener)
    : socket_(std::move(socket)),
      serve_(std::move(serve)),
      tell_(std::move(tell)),
      changes_(std::move(changes)),
      stop_(std::move(stop)),
      ours_(Found()),
      listener_(std::move(listener)),
      thread_([this] { Loop(); }) {}

SocketKeeper::~SocketKeeper() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

absl::StatusOr<std::unique_ptr<SocketKeeper>> SocketKeeper::Start(
    SocketFile socket, std::function<void(UniqueFd)> serve,
    std::function<void(const absl::Status&)> tell, UniqueFd listener) {
  const std::string directory = socket.path.substr(0, socket.path.rfind('/') + 1);
  absl::Cleanup remove = [path = socket.path, is_ours = listener.valid()] {
    if (is_ours) unlink(path.c_str());
  };
  UniqueFd changes(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!changes.valid() || !WatchDirectoryOf(changes, socket.path)) {
    return ErrnoStatus(errno, absl::StrCat("watch ", directory));
  }
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, absl::StrCat("watch ", directory));
  try {
    std::unique_ptr<SocketKeeper> keeper(new SocketKeeper(std::move(socket), std::move(serve),
                                                          std::move(tell), std::move(changes),
                                                          std::move(stop), std::move(listener)));
    std::move(remove).Cancel();
    return keeper;
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("watch ", directory, ": ", error.what()));
  }
}

std::optional<SocketKeeper::Identity> SocketKeeper::Found() const {
  struct stat info = {};
  if (lstat(socket_.path.c_str(), &info) != 0) return std::nullopt;
  return Identity(info.st_dev, info.st_ino);
}

bool SocketKeeper::HoldsPath() const {
  const std::optional<Identity> found = Found();
  return found.has_value() && IsOurs(*found);
}

bool SocketKeeper::IsOurs(const Identity& file) const {
  const absl::MutexLock lock(&mutex_);
  return file == ours_;
}

void SocketKeeper::RemoveFile(std::unique_ptr<SocketKeeper> keeper) {
  if (keeper == nullptr || !keeper->HoldsPath()) return;
  const std::string path = keeper->socket_.path;
  keeper.reset();  // before the removal, which it would undo
  unlink(path.c_str());
}

void SocketKeeper::Look() {
  const std::optional<Identity> found = Found();
  if (found.has_value() || !SaysThereIsNone(errno)) {
    missing_ = false;
    // By this one look: the file may go meanwhile, and would pass for another's at the next.
    if (!found.has_value() || IsOurs(*found)) {
      foreign_.reset();
    } else if (found != foreign_) {
      foreign_ = found;
      tell_(absl::AlreadyExistsError("another file has taken its place, and is left alone"));
    }
    return;
  }
  foreign_.reset();
  Accept();  // clients that connected through the old file
  // The watch comes first, so that no removal of the new file is missed.
  absl::StatusOr<UniqueFd> listener =
      WatchDirectoryOf(changes_, socket_.path) || errno != ENOENT
          ? ListenAt(socket_)
          : ErrnoStatus(errno, absl::StrCat("listen on ", socket_.path));
  const absl::Status made = listener.status();
  if (made.ok()) {
    listener_ = *std::move(listener);
    const absl::MutexLock lock(&mutex_);
    ours_ = Found();
  }
  if (made.ok() || !missing_) tell_(made);
  missing_ = !made.ok();
}

void SocketKeeper::Accept() {
  starved_ = false;
  while (listener_.valid()) {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      serve_(std::move(connection));
    } else if (errno != EINTR && errno != ECONNABORTED) {
      starved_ = errno != EAGAIN;
      return;
    }
  }
}

void SocketKeeper::Loop() {
  Look();  // the file may have gone before the watch began
  while (true) {
    // Without descriptors, a waiting client would wake the poll at once, again and again.
    struct pollfd polls[3] = {{stop_.get(), POLLIN, 0},
                              {changes_.get(), POLLIN, 0},
                              {starved_ ? -1 : listener_.get(), POLLIN, 0}};
    const int most = missing_ || starved_ ? kAgainMilliseconds : kUnheardMilliseconds;
    if (poll(polls, 3, most) < 0) continue;  // EINTR
    if (polls[0].revents != 0) return;
    if (starved_ || polls[2].revents != 0) Accept();
    char events[4096];
    while (read(changes_.get(), events, sizeof(events)) > 0) {
    }
    Look();
  }
}

}  // namespace plimsoll
