#include "agent/pods/allocation/place_book.h"

#include <utility>

#include "absl/status/status.h"
#include "agent/pods/allocation/places.h"

namespace plimsoll::agent {

bool PlaceBook::Set(std::shared_ptr<const NodeManagers> managers,
                    std::optional<resources::CpuSet> shared) {
  const absl::MutexLock lock(&mutex_);
  const bool differs = managers_ == nullptr || shared_ != shared;
  managers_ = std::move(managers);
  shared_ = std::move(shared);
  return differs;
}

std::shared_ptr<const NodeManagers> PlaceBook::managers() const {
  const absl::MutexLock lock(&mutex_);
  return managers_;
}

bool PlaceBook::Confines() const {
  const absl::MutexLock lock(&mutex_);
  return managers_ != nullptr && (managers_->cpus() != nullptr || managers_->memory() != nullptr);
}

absl::StatusOr<std::map<std::string, pod::ContainerPlace>> PlaceBook::Places(
    const pod::Manifest& pod, const PodGrant& grant) const {
  const absl::MutexLock lock(&mutex_);
  if (managers_ == nullptr) {
    return absl::UnavailableError("the node's topology isn't known yet, nor which CPUs are free");
  }
  return PlacesOf(pod, grant, shared_);
}

}  // namespace plimsoll::agent
