#include "service/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <system_error>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {
namespace {

constexpr absl::Duration kBetweenTries = absl::Milliseconds(100);

// One datagram to the socket of that name. UNAVAILABLE if its queue is full.
absl::Status Send(const std::string& name, const std::string& state) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET='", name, "': neither a path nor an abstract socket"));
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';  // abstract (unix(7))

  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "make a datagram socket");
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const ssize_t sent = sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), size);
  if (sent < 0) return ErrnoStatus(errno, absl::StrCat("notify the service manager at ", name));
  return absl::OkStatus();
}

// Whether a later try may succeed.
bool IsTemporary(const absl::Status& sent) {
  return absl::IsUnavailable(sent) || absl::IsResourceExhausted(sent);
}

// States that the service manager has not taken yet, in their order. Lives as long as the process.
class Backlog {
 public:
  // Sends the state after those that wait. Waits for nobody.
  absl::Status Send(const std::string& name, const std::string& state) {
    const absl::MutexLock lock(&mutex_);
    absl::Status sent = waiting_.empty() ? plimsoll::Send(name, state) : absl::UnavailableError("");
    if (!IsTemporary(sent)) return sent;
    if (waiting_.size() == kMostWaiting) {
      return absl::UnavailableError(
          absl::StrCat("the service manager at ", name, " reads nothing"));
    }
    try {
      if (waiting_.empty()) std::thread([this] { SendWaiting(); }).detach();
    } catch (const std::system_error&) {  // there is no thread for it
      return sent;
    }
    waiting_.push_back({name, state});
    return absl::OkStatus();
  }

 private:
  struct Waiting {
    std::string name;  // of the socket
    std::string state;
  };
  // Bounds the memory if the service manager never reads again, as after a SIGSTOP.
  static constexpr size_t kMostWaiting = 64;

  // Until none waits.
  void SendWaiting() {
    for (;;) {
      absl::SleepFor(kBetweenTries);
      const absl::MutexLock lock(&mutex_);
      while (!waiting_.empty()) {
        const absl::Status sent = plimsoll::Send(waiting_.front().name, waiting_.front().state);
        if (IsTemporary(sent)) break;
        if (!sent.ok()) std::fprintf(stderr, "%s\n", std::string(sent.message()).c_str());
        waiting_.pop_front();
      }
      if (waiting_.empty()) return;
    }
  }

  absl::Mutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status NotifyServiceManager(absl::string_view state) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return absl::OkStatus();
  // Never destroyed: its thread may outlive main.
  static Backlog& backlog = *new Backlog;
  // A dropped READY=1 would leave the unit starting for ever.
  return backlog.Send(name, std::string(state));
}

absl::Status NotifyReadyFd(int fd) {
  if (fd < 0) return absl::OkStatus();
  UniqueFd owned(fd);
  ssize_t written = 0;
  do {
    written = write(fd, "1", 1);
  } while (written < 0 && errno == EINTR);
  // The parent may be gone, which is no error here (the daemon ignores SIGPIPE).
  if (written < 0 && errno != EPIPE) return ErrnoStatus(errno, "write to --ready-fd");
  return absl::OkStatus();
}

}  // namespace plimsoll
