#include "agent/pods/admission/living_changes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/node/kube_time.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/allocation/place_book.h"
#include "agent/pods/life/living_context.h"
#include "agent/pods/records/pod_change.h"
#include "agent/pods/resizing/resize_check.h"
#include "agent/pods/resizing/resize_limits.h"
#include "agent/pods/resizing/resize_status.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"
#include "pod_runner/manifest/manifest_objects.h"

namespace plimsoll::agent {
namespace {

constexpr char kDeferred[] = "Deferred";
constexpr char kInfeasible[] = "Infeasible";

// The words of an admission, for a pod that goes on with less.
std::string WithoutRejection(absl::string_view message) {
  return std::string(absl::StripPrefix(message, kRejected));
}

bool Same(const std::optional<PodVerdict>& one, const std::optional<PodVerdict>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->reason == other->reason && one->message == other->message;
}

}  // namespace

void LivingChanges::Tell(const PodRecord& record, const char* type, const char* reason,
                         absl::string_view message) {
  host_.events.Add(SubjectOf(record), type, reason, message);
}

LivingChanges::Others LivingChanges::OthersOf(const PodWorker& pod,
                                              const ChangedTogether& together) const {
  Others others;
  others.list = together.fresh;
  for (const PodTable::Worker& each : table_.All()) {
    if (each->uid() == pod.uid() || !each->is_active()) continue;
    const auto changed = together.living.find(each->uid());
    if (changed != together.living.end()) {
      others.list.push_back(changed->second);
      continue;
    }
    others.kept.push_back(each->manifest());
    others.list.push_back(others.kept.back().get());
  }
  return others;
}

std::optional<PodVerdict> LivingChanges::JudgeByManagers(const PodWorker& pod,
                                                         const pod::Manifest& wanted) const {
  if (host_.places == nullptr) return std::nullopt;
  const std::shared_ptr<const NodeManagers> managers = host_.places->managers();
  pod::PodContext context;
  const absl::Status status = AddLiving(host_, pod.record(), wanted, context);
  if (managers == nullptr || !status.ok()) {
    return PodVerdict{kDeferred, std::string(status.message())};
  }
  const auto why = WhyInfeasible(*pod.manifest(), wanted, managers->options(), context);
  if (why) return PodVerdict{kInfeasible, *why};
  return std::nullopt;
}

std::optional<PodVerdict> LivingChanges::Judge(const PodWorker& pod,
                                               const pod::Manifest& wanted) const {
  if (const auto verdict = JudgeByManagers(pod, wanted)) return verdict;
  if (!NeedsRoom(*pod.manifest(), wanted)) return std::nullopt;
  const auto alone = admit_(wanted, {});
  if (!alone.ok()) return PodVerdict{kDeferred, std::string(alone.status().message())};
  if (*alone) return PodVerdict{kInfeasible, WithoutRejection((*alone)->message)};
  const auto beside = admit_(wanted, OthersOf(pod, {}).list);
  if (!beside.ok()) return PodVerdict{kDeferred, std::string(beside.status().message())};
  if (*beside) return PodVerdict{kDeferred, WithoutRejection((*beside)->message)};
  return std::nullopt;
}

absl::Status LivingChanges::Put(PodWorker& pod, const nlohmann::json& object,
                                const pod::Manifest& manifest) {
  SpecChange change{.object = object, .manifest = nullptr, .pending = Judge(pod, manifest)};
  if (!change.pending) change.manifest = std::make_shared<const pod::Manifest>(manifest);
  const PodRecord before = pod.record();
  PLIMSOLL_RETURN_IF_ERROR(pod.Put(change));
  host_.board.Change(before.key, [&](const nlohmann::json& shown) {
    return WithChange(shown, pod.record(), KubeTime(host_.clock.Now()));
  });
  if (change.pending) {
    Tell(before, "Warning", absl::StrCat("Resize", change.pending->reason).c_str(),
         absl::StrCat("Pod resize ",
                      change.pending->reason == kDeferred ? "waits" : "is impossible on this node",
                      ": ", change.pending->message));
  } else if (ChangeOf(before.Allocated(), object).amounts) {
    Tell(before, "Normal", "ResizeStarted",
         absl::StrCat("Pod resize started, to generation ", pod.record().generation));
  }
  table_.Wake(before.uid);
  return absl::OkStatus();
}

absl::Status LivingChanges::Check(const PodWorker& pod, const nlohmann::json& object,
                                  const pod::Manifest& manifest,
                                  const ChangedTogether& together) const {
  const PodRecord record = pod.record();
  const PodChange change = ChangeOf(record.object, object);
  if (!change.any) return absl::OkStatus();
  if (!change.in_place()) return ForbiddenChange(record.key, change);
  if (change.amounts && !host_.resizes_pods) {
    return absl::FailedPreconditionError(
        absl::StrCat(PodName(record.key),
                     " is there with other resources, and keeps them: feature gate "
                     "InPlacePodVerticalScaling is off; delete it first"));
  }
  if (!pod.is_active() || record.deleted) {
    return absl::FailedPreconditionError(
        absl::StrCat(PodName(record.key), record.deleted ? " is being deleted" : " has ended",
                     ": its resources stay; delete it and apply it again"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::Manifest before,
                            pod::ManifestOnRecord(record.object, PodName(record.key)));
  PLIMSOLL_RETURN_IF_ERROR(CheckResize(before, manifest));
  if (!change.classes || !host_.check_classes) return absl::OkStatus();
  return host_.check_classes(&before, manifest, OthersOf(pod, together).list);
}

void LivingChanges::Retry() {
  if (!host_.resizes_pods) return;
  std::vector<std::pair<absl::Time, PodTable::Worker>> waiting;
  for (PodTable::Worker& each : table_.All()) {
    std::optional<absl::Time> created;
    each->Read([&](const PodRecord& record) {
      if (record.pending && !record.deleted) created = record.created;
    });
    if (created && each->is_active()) waiting.emplace_back(*created, std::move(each));
  }
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [created, pod] : waiting) {
    const PodRecord record = pod->record();
    absl::Status status = absl::OkStatus();
    const absl::StatusOr<pod::Manifest> wanted =
        pod::ManifestOnRecord(record.object, PodName(record.key));
    if (!wanted.ok()) {
      status = wanted.status();
    } else if (!Same(record.pending, Judge(*pod, *wanted))) {
      status = Put(*pod, record.object, *wanted);
    }
    if (!status.ok() && !absl::IsNotFound(status)) {
      Tell(record, "Warning", "ResizeError", status.message());
    }
  }
}

}  // namespace plimsoll::agent
