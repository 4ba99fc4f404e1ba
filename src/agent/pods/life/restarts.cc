#include "agent/pods/life/restarts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/resizing/resize_restarts.h"
#include "agent/pods/status/pod_subject.h"
#include "agent/pods/status/start_events.h"

namespace plimsoll::agent {
void Restarts::Recall(const pod::Manifest& pod, const ObservedPod& observed) {
  if (std::exchange(has_recalled_, true)) return;
  for (const pod::ContainerManifest& container : pod.containers) {
    const ObservedContainer* last = nullptr;
    const ObservedContainer* before = nullptr;
    for (const ObservedContainer& each : observed.containers) {
      if (each.name != container.name) continue;
      (last == nullptr ? last : before) = &each;
      if (before != nullptr) break;
    }
    if (last == nullptr || last->attempt == 0) continue;
    // The run before may be gone: then the last one shows at least how long it ran itself.
    const absl::Time since = before != nullptr ? before->finished : last->started;
    runs_.Resume(container.name, last->attempt, since);
  }
}

absl::Time Restarts::NotBefore(const PodRecord& record, const ObservedContainer& ended) const {
  return EndsForResize(record, ended) ? absl::InfinitePast()
                                      : runs_.NotBefore(ended.name, ended.finished);
}

void Restarts::Note(const PodRecord& record, const pod::Manifest& pod, const ObservedPod& observed,
                    const PodPlan& plan) {
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& name = pod.containers[i].name;
    const ObservedContainer* last = observed.Newest(name, "");
    const bool starts = std::find(plan.start.begin(), plan.start.end(), i) != plan.start.end();
    const bool ended = last != nullptr && last->state == ObservedState::kExited;
    const bool waits = ended && !starts && !plan.end &&
                       runs_.NotBefore(name, last->finished) > clock_.Now() &&
                       RestartsAfterExit(pod, pod.containers[i], last->counted_exit_code());
    if (!waits) {
      if (!starts_.HasFailed(name)) waiting_.erase(name);
      continue;
    }
    if (waiting_[name].of == last->id) continue;
    const std::string pod_text =
        absl::StrCat(record.key.name, "_", record.key.pod_namespace, "(", record.uid, ")");
    const absl::Duration pause = runs_.Pause(name);
    waiting_[name] = {"CrashLoopBackOff",
                      absl::StrCat("back-off ", absl::FormatDuration(pause),
                                   " restarting failed container=", name, " pod=", pod_text),
                      last->id};
    events_.Add(SubjectOf(record, name), "Warning", "BackOff",
                absl::StrCat("Back-off restarting failed container ", name, " in pod ", pod_text));
  }
}

absl::Duration Restarts::BeforeStart(const PodRecord& record,
                                     const pod::ContainerManifest& container,
                                     const ObservedContainer* last) {
  const std::string& name = container.name;
  const absl::Duration left = starts_.Left(name, clock_.Now());
  if (left > absl::ZeroDuration()) {
    if (waiting_[name].reason == "ErrImagePull") {
      waiting_[name].reason = "ImagePullBackOff";
      TellPullBackOff(events_, SubjectOf(record, name), container.image);
    }
    return left;
  }
  const bool is_restart = last != nullptr && last->state == ObservedState::kExited;
  if (is_restart && !EndsForResize(record, *last)) runs_.OnAttempt(name, last->finished);
  return absl::ZeroDuration();
}

absl::Duration Restarts::AfterStart(const std::string& container, absl::Time began,
                                    const std::optional<PodStarter::Failure>& failure) {
  if (!failure) {
    waiting_.erase(container);
    starts_.Forget(container);
    return absl::InfiniteDuration();
  }
  // A registry that can't be reached is no passing failure of the runtime's.
  if (IsPassing(failure->status) && failure->waiting.reason != "ErrImagePull") {
    return kSoon;
  }
  waiting_[container] = failure->waiting;
  return starts_.OnFailure(container, began);
}

}  // namespace plimsoll::agent
