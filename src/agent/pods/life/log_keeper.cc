#include "agent/pods/life/log_keeper.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

void LogKeeper::Look(const std::vector<PodTable::Worker>& pods) {
  for (const PodTable::Worker& pod : pods) {
    for (const ObservedContainer& each : pod->observed().containers) {
      if (each.state == ObservedState::kRunning && !LookAt(pod->key(), each)) return;
    }
  }
}

bool LogKeeper::LookAt(const PodKey& pod, const ObservedContainer& container) {
  if (!absl::StartsWith(container.log_path, options_.pods_directory + "/")) return true;
  bool away = false;
  const absl::StatusOr<bool> rotated =
      pod::RotateLog(root_, container.log_path, options_.limits, [&] {
        absl::Status reopened = client_.ReopenContainerLog(container.id);
        away = IsPassing(reopened);
        return reopened;
      });
  // A container that has ended meanwhile writes no more.
  const bool has_ended =
      absl::IsNotFound(rotated.status()) || absl::IsFailedPrecondition(rotated.status());
  if (!rotated.ok() && !away && !has_ended) {
    options_.note(absl::StrCat(PodName(pod), ": log of container ", container.name,
                               " is not rotated: ", rotated.status().message()));
  }
  return !away;
}

}  // namespace plimsoll::agent
