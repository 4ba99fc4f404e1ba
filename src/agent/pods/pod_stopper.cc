#include "agent/pods/pod_stopper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "pod/hooks.h"
#include "pod/lifecycle.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

// A program gets this time after its hook in any case (kubelet's minimumGracePeriodInSeconds).
constexpr int64_t kLeastGraceSeconds = 2;

}  // namespace

const pod::ContainerManifest* PodStopper::ManifestOf(const ObservedContainer& container) const {
  for (const pod::ContainerManifest& each : pod_.containers) {
    if (each.name == container.name) return &each;
  }
  return nullptr;
}

int64_t PodStopper::RunPreStop(const PodRecord& record, const ObservedContainer& container,
                               int64_t grace_s) {
  const pod::ContainerManifest* manifest = ManifestOf(container);
  const bool has_hook = manifest != nullptr && manifest->lifecycle.pre_stop;
  if (!has_hook || grace_s == 0 || container.state != ContainerState::kRunning) return grace_s;
  const SteadyTime begin = SteadyNow();
  const absl::Status status = pod::RunHook(
      host_.client, {container.id, container.sandbox_id}, *manifest->lifecycle.pre_stop, grace_s,
      [&] { return host_.client.abandoned() || AtMost(grace_s) < grace_s; });
  if (!status.ok()) {
    host_.events.Add(
        {.kind = "Pod", .key = record.key, .uid = record.uid, .container = container.name},
        "Warning", "FailedPreStopHook", absl::StrCat("PreStopHook failed: ", status.message()));
  }
  const int64_t taken = absl::ToInt64Seconds(absl::FromChrono(SteadyNow() - begin));
  return std::max(grace_s - taken, kLeastGraceSeconds);
}

absl::Status PodStopper::Stop(const PodRecord& record, const ObservedPod& observed,
                              const std::string& sandbox, int64_t grace_s) {
  std::vector<const ObservedContainer*> first, sidecars;
  for (const ObservedContainer& each : observed.containers) {
    if (each.sandbox_id != sandbox || each.state == ContainerState::kExited) continue;
    const pod::ContainerManifest* manifest = ManifestOf(each);
    const bool is_sidecar = manifest != nullptr && manifest->role == Role::kSidecar;
    (is_sidecar ? sidecars : first).push_back(&each);
  }
  // The manifest's containers lie one behind the other.
  std::sort(sidecars.begin(), sidecars.end(), [this](const auto* one, const auto* other) {
    return ManifestOf(*one) > ManifestOf(*other);
  });
  absl::Status status = StopContainers(record, first, grace_s);
  for (const ObservedContainer* each : sidecars) {
    status = FirstError(std::move(status), StopContainers(record, {each}, grace_s));
  }
  absl::Status stopped = host_.client.StopPodSandbox(sandbox);
  if (absl::IsNotFound(stopped)) stopped = absl::OkStatus();
  return FirstError(std::move(status), std::move(stopped));
}

absl::Status PodStopper::StopContainers(const PodRecord& record,
                                        const std::vector<const ObservedContainer*>& containers,
                                        int64_t grace_s) {
  std::vector<absl::Status> results(containers.size());
  EachAtOnce(containers.size(), pod::kStopsAtOnce, [&](size_t i) {
    results[i] = StopOne(record, *containers[i], grace_s,
                         absl::StrCat("Stopping container ", containers[i]->name));
  });
  absl::Status status;
  for (absl::Status& each : results) status = FirstError(std::move(status), std::move(each));
  return status;
}

absl::Status PodStopper::StopOne(const PodRecord& record, const ObservedContainer& container,
                                 int64_t grace_s, const std::string& why) {
  host_.events.Add(
      {.kind = "Pod", .key = record.key, .uid = record.uid, .container = container.name}, "Normal",
      "Killing", why);
  {
    const absl::MutexLock lock(&mutex_);
    stopping_.insert(container.id);
  }
  const int64_t left = RunPreStop(record, container, AtMost(grace_s));
  const absl::Status status = host_.client.StopContainer(container.id, AtMost(left));
  const absl::MutexLock lock(&mutex_);
  stopping_.erase(container.id);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

int64_t PodStopper::AtMost(int64_t grace_s) {
  const absl::MutexLock lock(&mutex_);
  return std::min(grace_s, most_grace_s_);
}

void PodStopper::Hasten(int64_t grace_s) {
  const absl::MutexLock lock(&mutex_);
  most_grace_s_ = std::min(most_grace_s_, grace_s);
  if (stopping_.empty()) return;
  const std::vector<std::string> ids(stopping_.begin(), stopping_.end());
  // An error is the concern of the call that waits.
  hastening_.emplace_back([this, ids, grace_s] {
    EachAtOnce(ids.size(), pod::kStopsAtOnce,
               [&](size_t i) { host_.client.StopContainer(ids[i], grace_s).IgnoreError(); });
  });
}

PodStopper::~PodStopper() {
  std::vector<std::thread> hastening;
  {
    const absl::MutexLock lock(&mutex_);
    hastening = std::move(hastening_);
  }
  for (std::thread& each : hastening) each.join();
}

absl::Status PodStopper::Remove(const ObservedPod& observed) {
  for (const ObservedSandbox& each : observed.sandboxes) {
    const absl::Status removed = host_.client.RemovePodSandbox(each.id);
    if (!absl::IsNotFound(removed)) PLIMSOLL_RETURN_IF_ERROR(removed);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
