#include "topology/publisher.h"

#include <utility>

namespace plimsoll::topology {

bool Publisher::Publish(Topology topology) {
  absl::MutexLock lock(&mutex_);
  if (newest_.topology != nullptr && *newest_.topology == topology) return false;
  ++newest_.number;
  newest_.topology = std::make_shared<const Topology>(std::move(topology));
  for (const auto& [id, wake] : wakes_) wake(newest_);
  return true;
}

Edition Publisher::Newest() const {
  absl::MutexLock lock(&mutex_);
  return newest_;
}

int Publisher::Subscribe(std::function<void(const Edition&)> wake) {
  absl::MutexLock lock(&mutex_);
  const int id = next_id_++;
  wakes_.emplace(id, std::move(wake));
  return id;
}

void Publisher::Unsubscribe(int id) {
  absl::MutexLock lock(&mutex_);
  wakes_.erase(id);
}

size_t Publisher::subscribers() const {
  absl::MutexLock lock(&mutex_);
  return wakes_.size();
}

}  // namespace plimsoll::topology
