#include "pod_runner/stop_turns.h"

#include <algorithm>

namespace plimsoll::pod {

StopTurns::StopTurns(int64_t grace_s, const std::vector<size_t>& ranks)
    : at_once_(grace_s == 0), deadline_(SteadyAfter(absl::Seconds(grace_s))) {
  for (const size_t rank : ranks) ++running_[rank];
}

bool StopTurns::IsTurnOf(size_t rank) const {
  return at_once_ || running_.empty() || running_.begin()->first >= rank;
}

void StopTurns::Await(size_t rank) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Hasten moves the deadline under a waiter.
  while (!IsTurnOf(rank) && SteadyNow() < deadline_) changed_.wait_until(lock, deadline_);
}

void StopTurns::End(size_t rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = running_.find(rank);
  if (it == running_.end()) return;
  if (--it->second == 0) running_.erase(it);
  changed_.notify_all();
}

void StopTurns::Hasten(int64_t grace_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  at_once_ = at_once_ || grace_s == 0;
  deadline_ = std::min(deadline_, SteadyAfter(absl::Seconds(grace_s)));
  changed_.notify_all();
}

int64_t StopTurns::left_s() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (at_once_) return 0;
  return std::max(absl::ToInt64Seconds(absl::Ceil(TimeUntil(deadline_), absl::Seconds(1))),
                  kLeastGraceSeconds);
}

}  // namespace plimsoll::pod
