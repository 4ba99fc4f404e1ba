#include "qos/rdt/rechecks.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace plimsoll::qos {

RdtRechecks::RdtRechecks(Check check) : check_(std::move(check)), thread_([this] { Run(); }) {}

RdtRechecks::~RdtRechecks() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

void RdtRechecks::After(absl::Duration delay, absl::string_view id, Kind kind) {
  absl::MutexLock lock(&mutex_);
  news_ = due_.emplace(std::make_pair(std::string(id), kind), absl::Now() + delay).second || news_;
}

bool RdtRechecks::HasNews() const {
  return stop_ || news_;
}

void RdtRechecks::Run() {
  mutex_.Lock();
  while (!stop_) {
    const auto next = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const absl::Time when = next == due_.end() ? absl::InfiniteFuture() : next->second;
    if (when > absl::Now()) {
      mutex_.AwaitWithDeadline(absl::Condition(this, &RdtRechecks::HasNews), when);
      news_ = false;
      continue;
    }
    const auto [id, kind] = next->first;
    due_.erase(next);
    mutex_.Unlock();
    check_(id, kind);
    mutex_.Lock();
  }
  mutex_.Unlock();
}

}  // namespace plimsoll::qos
