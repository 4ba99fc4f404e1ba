#include "agent/pods/life/pod_probes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/pods/life/container_manifest.h"
#include "agent/pods/life/plan.h"
#include "agent/probes/prober.h"
#include "base/status.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::agent {
namespace {

bool HasStartupProbe(const pod::Manifest& pod, const std::string& name) {
  const pod::ContainerManifest* const manifest = ContainerManifestOf(pod, name);
  return manifest != nullptr && manifest->startup.has_value();
}

bool HasProbes(const pod::Manifest& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const auto& each) {
    return each.startup || each.liveness || each.readiness;
  });
}

}  // namespace

PodProbes::~PodProbes() {
  if (!uid_.empty() && host_.prober != nullptr) host_.prober->Forget(uid_);
}

std::string PodProbes::StartedFile(const std::string& uid) const {
  return absl::StrCat(pod::PodDirPath(host_.state_directory, uid), "/started");
}

// Without the file no startup probe has succeeded, or its success was not put down.
void PodProbes::ReadStarted(const std::string& uid) {
  const absl::StatusOr<std::string> text = host_.root.Read(StartedFile(uid));
  if (!text.ok()) return;
  for (const absl::string_view id : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    started_.emplace(id);
  }
}

// A failure costs the startup probe's second run, after a kill of the agent.
void PodProbes::KeepStarted(const std::string& uid) {
  host_.root.ReplaceFile(StartedFile(uid), absl::StrJoin(started_, "\n")).IgnoreError();
}

void PodProbes::Look(const PodRecord& record, const ObservedPod& observed, bool has_ended) {
  if (host_.prober == nullptr || !HasProbes(pod_)) return;
  if (uid_.empty()) {
    uid_ = record.uid;
    ReadStarted(uid_);
  }
  ProbedPod probed{.uid = uid_,
                   .pod_namespace = record.key.pod_namespace,
                   .name = record.key.name,
                   .address = "",
                   .running = {},
                   .is_ending = record.deleted.has_value()};
  const ObservedSandbox* const sandbox = observed.ReadySandbox();
  if (pod_.host_network) {
    probed.address = host_.node.host_ip.empty() ? "127.0.0.1" : host_.node.host_ip;
  } else if (sandbox != nullptr && !sandbox->ips.empty()) {
    probed.address = sandbox->ips.front();
  }
  for (const ObservedContainer& each : observed.containers) {
    if (has_ended || each.state != ObservedState::kRunning) continue;
    probed.running.push_back({.name = each.name,
                              .id = each.id,
                              .age = host_.clock.Now() - each.started,
                              .started = started_.contains(each.id)});
  }
  health_ = host_.prober->Sync(probed, pod_);
  std::set<std::string> started;
  for (const ProbedContainer& each : probed.running) {
    if (health_.at(each.id).started && HasStartupProbe(pod_, each.name)) started.insert(each.id);
  }
  if (started != std::exchange(started_, started)) KeepStarted(uid_);
}

bool PodProbes::HasStarted(const ObservedContainer& container) const {
  const auto it = health_.find(container.id);
  return it == health_.end() || it->second.started;
}

absl::StatusOr<bool> PodProbes::StopFailed(const PodRecord& record, const ObservedPod& observed,
                                           PodStopper& stopper) {
  bool any = false;
  absl::Status status;
  for (const ObservedContainer& each : observed.containers) {
    const auto it = health_.find(each.id);
    if (it == health_.end() || !it->second.failed || each.state != ObservedState::kRunning) {
      continue;
    }
    any = true;
    stopped_.insert(each.id);
    const FailedProbe& failed = *it->second.failed;
    const pod::ContainerManifest* const manifest = ContainerManifestOf(pod_, each.name);
    const bool restarts = RestartsAfterExit(pod_, *manifest, 1);
    const std::string why =
        absl::StrCat("Container ", each.name, " failed ",
                     failed.kind == ProbeKind::kStartup ? "startup" : "liveness", " probe",
                     restarts ? ", will be restarted" : "");
    status = FirstError(
        std::move(status),
        stopper.StopOne(record, each, failed.grace_period_s.value_or(pod_.grace_period_s), why));
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return any;
}

void PodProbes::Mark(ObservedPod& observed) {
  std::set<std::string> still_there;
  for (ObservedContainer& each : observed.containers) {
    each.failed_probe = stopped_.contains(each.id);
    if (each.failed_probe) still_there.insert(each.id);
  }
  stopped_ = std::move(still_there);
}

}  // namespace plimsoll::agent
