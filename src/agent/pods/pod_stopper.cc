#include "agent/pods/pod_stopper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "pod/lifecycle.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

}  // namespace

absl::Status PodStopper::Stop(const PodRecord& record, const ObservedPod& observed,
                              const std::string& sandbox, int64_t grace_s) {
  std::vector<const ObservedContainer*> first, sidecars;
  for (const ObservedContainer& each : observed.containers) {
    if (each.sandbox_id != sandbox || each.state == ContainerState::kExited) continue;
    const auto it = std::find_if(pod_.containers.begin(), pod_.containers.end(),
                                 [&](const auto& item) { return item.name == each.name; });
    const bool is_sidecar = it != pod_.containers.end() && it->role == Role::kSidecar;
    (is_sidecar ? sidecars : first).push_back(&each);
  }
  const auto place = [this](const ObservedContainer* container) {
    return std::find_if(pod_.containers.begin(), pod_.containers.end(),
                        [&](const auto& item) { return item.name == container->name; });
  };
  std::sort(sidecars.begin(), sidecars.end(),
            [&](const auto* one, const auto* other) { return place(one) > place(other); });
  absl::Status status = StopContainers(record, first, grace_s);
  for (const ObservedContainer* each : sidecars) {
    status = FirstError(std::move(status), StopContainers(record, {each}, grace_s));
  }
  return FirstError(std::move(status), host_.client.StopPodSandbox(sandbox));
}

absl::Status PodStopper::StopContainers(const PodRecord& record,
                                        const std::vector<const ObservedContainer*>& containers,
                                        int64_t grace_s) {
  for (const ObservedContainer* each : containers) {
    host_.events.Add({.kind = "Pod", .key = record.key, .uid = record.uid, .container = each->name},
                     "Normal", "Killing", absl::StrCat("Stopping container ", each->name));
    const absl::MutexLock lock(&mutex_);
    stopping_.insert(each->id);
  }
  std::vector<absl::Status> results(containers.size());
  EachAtOnce(containers.size(), pod::kStopsAtOnce, [&](size_t i) {
    results[i] = host_.client.StopContainer(containers[i]->id, grace_s);
    const absl::MutexLock lock(&mutex_);
    stopping_.erase(containers[i]->id);
  });
  absl::Status status;
  for (absl::Status& each : results) {
    if (!absl::IsNotFound(each)) status = FirstError(std::move(status), std::move(each));
  }
  return status;
}

void PodStopper::Hasten(int64_t grace_s) {
  std::vector<std::string> ids;
  {
    const absl::MutexLock lock(&mutex_);
    ids.assign(stopping_.begin(), stopping_.end());
  }
  // An error is the concern of the call that waits.
  EachAtOnce(ids.size(), pod::kStopsAtOnce,
             [&](size_t i) { host_.client.StopContainer(ids[i], grace_s).IgnoreError(); });
}

absl::Status PodStopper::Remove(const ObservedPod& observed) {
  for (const ObservedSandbox& each : observed.sandboxes) {
    PLIMSOLL_RETURN_IF_ERROR(host_.client.RemovePodSandbox(each.id));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
