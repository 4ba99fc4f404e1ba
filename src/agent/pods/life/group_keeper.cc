#include "agent/pods/life/group_keeper.h"

#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/places.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

// There is one thing to retry.
constexpr char kTheQuota[] = "";

// A pod that has no CPUs on record when its worker begins has a group with a quota. Of any other,
// the agent before may have been killed in between.
std::optional<bool> FirstQuota(const PodGrant& grant) {
  const bool has_none = grant.containers.empty() && grant.pod.Empty();
  return has_none ? std::optional(false) : std::nullopt;
}

}  // namespace

GroupKeeper::GroupKeeper(const PodGrant& grant) : is_exclusive_(FirstQuota(grant)) {}

absl::Duration GroupKeeper::KeepQuota(const PodHost& host, const PodRecord& record,
                                      const pod::Manifest& pod, const ObservedPod& observed) {
  // A resize under way brings the group's amounts itself.
  if (!host.resize_group || !record.actuated.is_null()) return absl::InfiniteDuration();
  const bool exclusive = HasExclusiveCpus(record.grant, pod);
  if (is_exclusive_ == exclusive || observed.ReadySandbox() == nullptr) {
    return absl::InfiniteDuration();
  }
  const absl::Time now = host.clock.Now();
  const absl::Duration left = retries_.Left(kTheQuota, now);
  if (left > absl::ZeroDuration()) return left;
  // The runtime leaves this group's limits to the agent, and need not hear of them.
  const absl::Status status =
      host.resize_group(record, pod, GroupStep::kSettle, [] { return absl::OkStatus(); });
  if (status.ok()) {
    is_exclusive_ = exclusive;
    retries_.Forget(kTheQuota);
    return absl::InfiniteDuration();
  }
  if (IsPassing(status)) return kSoon;
  host.events.Add(
      SubjectOf(record), "Warning", "FailedUpdateResources",
      absl::StrCat("The pod's group can't ", exclusive ? "lose its CPU quota" : "get a CPU quota",
                   ": ", status.message()));
  return retries_.OnFailure(kTheQuota, now);
}

absl::Status GroupKeeper::RemoveOnce(const PodHost& host, const PodRecord& record,
                                     const ObservedPod& last) {
  if (is_removed_ || last.ReadySandbox() != nullptr || last.AnyRunning()) return absl::OkStatus();
  if (host.remove_group) PLIMSOLL_RETURN_IF_ERROR(host.remove_group(record));
  is_removed_ = true;
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
