#include "agent/device_manager/manager_news.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/status.h"

namespace plimsoll::agent {

absl::StatusOr<std::unique_ptr<ManagerNews>> ManagerNews::Make() {
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<ManagerNews>(new ManagerNews(std::move(event)));
}

void ManagerNews::Change() {
  {
    const absl::MutexLock lock(&mutex_);
    news_.changed = true;
  }
  Wake();
}

void ManagerNews::Tell(std::string reason, std::string message) {
  {
    const absl::MutexLock lock(&mutex_);
    if (news_.events.size() < kMostEvents) {
      news_.events.push_back({std::move(reason), std::move(message)});
    }
  }
  Wake();
}

void ManagerNews::Note(std::string line) {
  {
    const absl::MutexLock lock(&mutex_);
    if (news_.lines.size() < kMostEvents) news_.lines.push_back(std::move(line));
  }
  Wake();
}

void ManagerNews::Wake() {
  const uint64_t one = 1;
  while (write(event_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool ManagerNews::Heard() {
  uint64_t count = 0;
  return read(event_.get(), &count, sizeof(count)) == sizeof(count);
}

ManagerNews::News ManagerNews::Take() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(news_, {});
}

}  // namespace plimsoll::agent
