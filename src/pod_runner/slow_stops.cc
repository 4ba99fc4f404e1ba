#include "pod_runner/slow_stops.h"

#include <algorithm>

#include "base/monotonic_time.h"

namespace plimsoll::pod {

void SlowStops::Begin(const std::string& container) {
  const absl::Time now = MonotonicNow();
  absl::MutexLock lock(&mutex_);
  begun_[container] = now;
}

void SlowStops::End(const std::string& container) {
  absl::MutexLock lock(&mutex_);
  begun_.erase(container);
  --left_;
}

size_t SlowStops::left() const {
  absl::MutexLock lock(&mutex_);
  return left_;
}

std::vector<std::string> SlowStops::Take(absl::Duration time) {
  const absl::Time now = MonotonicNow();
  absl::MutexLock lock(&mutex_);
  const bool any_is_slow = std::any_of(begun_.begin(), begun_.end(),
                                       [&](const auto& each) { return now - each.second >= time; });
  std::vector<std::string> slow;
  if (!any_is_slow) return slow;
  for (auto it = begun_.begin(); it != begun_.end();) {
    if (now - it->second < time / 2) {
      ++it;
      continue;
    }
    slow.push_back(it->first);
    it = begun_.erase(it);
  }
  return slow;
}

}  // namespace plimsoll::pod
