#include "runtime/pod/exit_watcher.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/status.h"

namespace plimsoll::runtime {

ExitWatcher::~ExitWatcher() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

absl::Status ExitWatcher::Start() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "epoll_create1");
  stop_.Reset(eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) return ErrnoStatus(errno, "eventfd");
  struct epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl");
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

absl::Status ExitWatcher::Watch(UniqueFd pidfd, std::function<void()> on_exit) {
  const int fd = pidfd.get();
  absl::MutexLock lock(&mutex_);
  const uint64_t key = ++last_key_;
  watched_[key] = {std::move(pidfd), std::move(on_exit)};
  struct epoll_event event = {};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int err = errno;
    watched_.erase(key);
    return ErrnoStatus(err, "watch a process for its exit");
  }
  return absl::OkStatus();
}

void ExitWatcher::Loop() {
  while (true) {
    struct epoll_event event = {};
    const int ready = epoll_wait(epoll_.get(), &event, 1, -1);
    if (ready < 0 && errno == EINTR) continue;
    const uint64_t key = event.data.u64;  // a copy: the packed field can't be referred to
    if (ready != 1 || key == 0) return;
    Watched watched;
    {
      absl::MutexLock lock(&mutex_);
      const auto it = watched_.find(key);
      if (it == watched_.end()) continue;
      watched = std::move(it->second);
      watched_.erase(it);
    }
    watched.on_exit();  // closing the descriptor afterwards takes it out of the epoll set
  }
}

}  // namespace plimsoll::runtime
