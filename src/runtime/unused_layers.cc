#include "runtime/unused_layers.h"

namespace plimsoll::runtime {

absl::Status UnusedLayers::Collect(const std::vector<DamagedRow>& damaged) {
  std::vector<std::string> uncertain;
  for (const DamagedRow& row : damaged) {
    if (objects_->FindContainer(row.id).ok()) uncertain.push_back(row.id);
  }
  {
    absl::MutexLock lock(&mutex_);
    uncertain_.insert(uncertain.begin(), uncertain.end());
    if (!uncertain_.empty()) return absl::OkStatus();
  }
  return options_.images->CollectGarbage();
}

void UnusedLayers::CollectAfter(const std::string& container_id) {
  {
    absl::MutexLock lock(&mutex_);
    if (uncertain_.erase(container_id) == 0 || !uncertain_.empty()) return;
  }
  options_.events->Warn("", "", options_.images->CollectGarbage());
}

}  // namespace plimsoll::runtime
