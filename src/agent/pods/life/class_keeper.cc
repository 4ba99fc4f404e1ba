#include "agent/pods/life/class_keeper.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/life/written_amounts.h"
#include "agent/pods/status/pod_subject.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest/classes.h"

namespace plimsoll::agent {
namespace {

using AddWrittenTo =
    absl::FunctionRef<void(::runtime::v1::UpdateContainerResourcesRequest& request)>;

absl::Status CallFor(pod::Client& client, const ClassUpdate& update, AddWrittenTo add_written) {
  if (update.container.empty()) {
    ::runtime::v1::UpdatePodSandboxConfigRequest request;
    request.set_pod_sandbox_id(update.id);
    for (const auto& [type, name] : update.classes) {
      (*request.mutable_class_resources()->mutable_class_())[type] = name;
    }
    return client.updates().PodClasses(request);
  }
  ::runtime::v1::UpdateContainerResourcesRequest request;
  request.set_container_id(update.id);
  for (const auto& [type, name] : update.classes) {
    (*request.mutable_class_resources()->mutable_classes())[type] = name;
  }
  add_written(request);
  return client.updates().Container(request);
}

}  // namespace

absl::Duration ClassKeeper::Make(const Means& means, const LivingPod& pod,
                                 const ClassUpdate& update, std::set<std::string>& changed) {
  const absl::Time now = means.clock.Now();
  const std::string what = ClassesText(update.classes);
  const std::string key = absl::StrCat(update.id, " ", what);
  const auto retry = retry_at_.find(key);
  if (retry != retry_at_.end() && retry->second > now) return retry->second - now;
  const absl::Status status = CallFor(means.client, update, [&](auto& request) {
    if (!means.writes) return;
    for (const ObservedContainer& run : pod.observed.containers) {
      if (run.id == update.id) AddWritten(pod.record, pod.manifest, run, request);
    }
  });
  if (IsPassing(status)) return kSoon;
  const InvolvedObject subject = SubjectOf(pod.record, update.container);
  if (status.ok()) {
    retry_at_.erase(key);
    back_off_.Forget(key);
    changed.insert(update.id);
    means.events.Add(subject, "Normal", "ClassesUpdated",
                     absl::StrCat("QoS classes changed in place: ", what));
    return absl::InfiniteDuration();
  }
  means.events.Add(subject, "Warning", "FailedUpdateClasses",
                   absl::StrCat("QoS classes can't be changed to ", what, ": ", status.message()));
  back_off_.OnAttempt(key, now);
  retry_at_[key] = back_off_.NotBefore(key, now);
  return retry_at_[key] - now;
}

ClassKeeper::Outcome ClassKeeper::Keep(const Means& means, const PodRecord& record,
                                       const pod::Manifest& pod, const ObservedPod& observed) {
  Outcome outcome;
  if (!pod::HasClassFields(pod) || !means.node) return outcome;
  const absl::StatusOr<NodeClasses> node = means.node();
  if (!node.ok()) {
    outcome.pause = kSoon;
    return outcome;
  }
  const std::vector<ClassUpdate> updates = ClassUpdates(pod, observed, *node);
  if (updates.empty()) retry_at_.clear();
  for (const ClassUpdate& update : updates) {
    const absl::Duration pause = Make(means, {record, pod, observed}, update, outcome.changed);
    outcome.pause = std::min(outcome.pause, pause);
  }
  return outcome;
}

}  // namespace plimsoll::agent
