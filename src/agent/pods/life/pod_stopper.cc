#include "agent/pods/life/pod_stopper.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/life/container_manifest.h"
#include "agent/pods/status/pod_subject.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "pod_runner/hooks.h"
#include "pod_runner/lifecycle.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

}  // namespace

void PodStopper::RunPreStop(const PodRecord& record, const ObservedContainer& container,
                            int64_t grace_s) {
  const pod::ContainerManifest* manifest = ContainerManifestOf(pod_, container.name);
  const bool has_hook = manifest != nullptr && manifest->lifecycle.pre_stop;
  if (!has_hook || grace_s == 0 || container.state != ObservedState::kRunning) return;
  const absl::Status status = pod::RunHook(
      host_.client, {container.id, container.sandbox_id}, *manifest->lifecycle.pre_stop, grace_s,
      [&] { return host_.client.abandoned() || AtMost(grace_s) < grace_s; });
  if (status.ok()) return;
  host_.events.Add(SubjectOf(record, container.name), "Warning", "FailedPreStopHook",
                   absl::StrCat("PreStopHook failed: ", status.message()));
}

std::vector<PodStopper::Doomed> PodStopper::DoomedOf(const ObservedPod& observed,
                                                     const std::string& sandbox) const {
  std::vector<Doomed> all, sidecars;
  for (const ObservedContainer& each : observed.containers) {
    if (each.sandbox_id != sandbox || each.state == ObservedState::kExited) continue;
    const pod::ContainerManifest* manifest = ContainerManifestOf(pod_, each.name);
    const Role role = manifest == nullptr ? Role::kContainer : manifest->role;
    Doomed doomed{&each, 0};
    if (role == Role::kInit) doomed.rank = std::nullopt;
    (role == Role::kSidecar ? sidecars : all).push_back(doomed);
  }
  // The manifest's containers lie one behind the other.
  std::sort(sidecars.begin(), sidecars.end(), [this](const Doomed& one, const Doomed& other) {
    return ContainerManifestOf(pod_, one.container->name) >
           ContainerManifestOf(pod_, other.container->name);
  });
  for (size_t i = 0; i < sidecars.size(); ++i) all.push_back({sidecars[i].container, i + 1});
  return all;
}

absl::Status PodStopper::Stop(const PodRecord& record, const ObservedPod& observed,
                              const std::string& sandbox, int64_t grace_s) {
  absl::Status status = StopContainers(record, DoomedOf(observed, sandbox), grace_s);
  absl::Status stopped = host_.client.StopPodSandbox(sandbox);
  if (absl::IsNotFound(stopped)) stopped = absl::OkStatus();
  return FirstError(std::move(status), std::move(stopped));
}

absl::Status PodStopper::StopOne(const PodRecord& record, const ObservedContainer& container,
                                 int64_t grace_s, const std::string& why) {
  TellKilling(record, container, why);
  {
    const absl::MutexLock lock(&mutex_);
    stopping_.insert(container.id);
  }
  const pod::StopTurns turns(AtMost(grace_s), {0});
  RunPreStop(record, container, turns.left_s());
  const absl::Status status = host_.client.StopContainer(container.id, AtMost(turns.left_s()));
  const absl::MutexLock lock(&mutex_);
  stopping_.erase(container.id);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

void PodStopper::TellKilling(const PodRecord& record, const ObservedContainer& container,
                             const std::string& why) {
  host_.events.Add(SubjectOf(record, container.name), "Normal", "Killing", why);
}

absl::Status PodStopper::StopContainers(const PodRecord& record, const std::vector<Doomed>& all,
                                        int64_t grace_s) {
  std::vector<size_t> ranks;
  for (const Doomed& each : all) {
    if (each.rank.has_value()) ranks.push_back(*each.rank);
    TellKilling(record, *each.container, absl::StrCat("Stopping container ", each.container->name));
  }
  pod::StopTurns turns(AtMost(grace_s), ranks);
  {
    const absl::MutexLock lock(&mutex_);
    turns_ = &turns;
    turns.Hasten(most_grace_s_);
    for (const Doomed& each : all) stopping_.insert(each.container->id);
  }
  std::vector<absl::Status> results(all.size());
  // In the order of ranks, so that of more containers than threads the later ones wait.
  EachAtOnce(all.size(), pod::kStopsAtOnce,
             [&](size_t i) { results[i] = StopInTurn(record, all[i], turns); });
  {
    const absl::MutexLock lock(&mutex_);
    turns_ = nullptr;
  }
  absl::Status status;
  for (absl::Status& each : results) status = FirstError(std::move(status), std::move(each));
  return status;
}

absl::Status PodStopper::StopInTurn(const PodRecord& record, const Doomed& doomed,
                                    pod::StopTurns& turns) {
  const std::string& id = doomed.container->id;
  RunPreStop(record, *doomed.container, turns.left_s());
  {
    const absl::MutexLock lock(&mutex_);
    stopping_.erase(id);
  }
  if (doomed.rank.has_value()) turns.Await(*doomed.rank);
  {
    const absl::MutexLock lock(&mutex_);
    stopping_.insert(id);
  }
  absl::Status stopped = host_.client.StopContainer(id, turns.left_s());
  if (doomed.rank.has_value()) turns.End(*doomed.rank);
  const absl::MutexLock lock(&mutex_);
  stopping_.erase(id);
  return absl::IsNotFound(stopped) ? absl::OkStatus() : stopped;
}

int64_t PodStopper::AtMost(int64_t grace_s) {
  const absl::MutexLock lock(&mutex_);
  return std::min(grace_s, most_grace_s_);
}

void PodStopper::Hasten(int64_t grace_s) {
  const absl::MutexLock lock(&mutex_);
  most_grace_s_ = std::min(most_grace_s_, grace_s);
  if (turns_ != nullptr) turns_->Hasten(grace_s);
  if (stopping_.empty()) return;
  const std::vector<std::string> ids(stopping_.begin(), stopping_.end());
  try {
    // An error is the concern of the call that waits.
    hastening_.emplace_back([this, ids, grace_s] {
      EachAtOnce(ids.size(), pod::kStopsAtOnce,
                 [&](size_t i) { host_.client.StopContainer(ids[i], grace_s).IgnoreError(); });
    });
  } catch (const std::system_error&) {  // without a thread, the calls that wait keep their period
  }
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
