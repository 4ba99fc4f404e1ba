#include "agent/pods/life/resize_keeper.h"

#include "absl/strings/str_cat.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/life/pod_resizer.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"
#include "pod_runner/manifest/manifest_objects.h"

namespace plimsoll::agent {
namespace {

// There is one thing to retry.
constexpr char kTheResize[] = "";

void TellOfResize(const PodHost& host, const PodRecord& record, const char* type,
                  const char* reason, const std::string& message) {
  host.events.Add(SubjectOf(record), type, reason, message);
}

}  // namespace

absl::Status ResizeKeeper::Try(const Means& means, const PodRecord& record,
                               const pod::Manifest& pod, ObservedPod& observed) {
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::Manifest before,
                            pod::ManifestOnRecord(record.actuated, PodName(record.key)));
  PodResizer resizer(means.host, record, before, pod, means.stopper);
  // Only what the runtime says now counts.
  means.reader.ForgetLiving();
  PLIMSOLL_ASSIGN_OR_RETURN(observed, means.reader.Read());
  PLIMSOLL_RETURN_IF_ERROR(
      resizer.Go(observed, [&](const std::string& container, const std::string& id) {
        return means.change([&](PodRecord& kept) { kept.restarting[container] = id; });
      }));
  means.reader.ForgetLiving();
  PLIMSOLL_ASSIGN_OR_RETURN(observed, means.reader.Read());
  PLIMSOLL_RETURN_IF_ERROR(resizer.Verify(observed));
  return means.change([&](PodRecord& kept) {
    // Another change may have come meanwhile.
    const bool is_last = kept.allocated_generation == record.allocated_generation;
    kept.actuated = is_last ? nlohmann::json() : record.Allocated();
  });
}

absl::Duration ResizeKeeper::Keep(const Means& means, const PodRecord& record,
                                  const pod::Manifest& pod, ObservedPod& observed) {
  if (record.actuated.is_null() || !means.host.resizes_pods) return absl::InfiniteDuration();
  const absl::Time now = means.host.clock.Now();
  const absl::Duration left = retries_.Left(kTheResize, now);
  if (left > absl::ZeroDuration()) return left;
  const absl::Status status = Try(means, record, pod, observed);
  if (IsPassing(status)) return kSoon;
  if (status.ok()) {
    Forget();
    TellOfResize(means.host, record, "Normal", "ResizeCompleted",
                 absl::StrCat("Pod resize completed, to generation ", record.allocated_generation));
    return absl::InfiniteDuration();
  }
  // gRPC's own answer for a call that a runtime doesn't have is without words.
  failure_ = status.message().empty() ? std::string(absl::StatusCodeToString(status.code()))
                                      : std::string(status.message());
  TellOfResize(means.host, record, "Warning", "ResizeError",
               absl::StrCat("Pod resize failed, and is tried again: ", failure_));
  return retries_.OnFailure(kTheResize, now);
}

void ResizeKeeper::Forget() {
  retries_.Forget(kTheResize);
  failure_.clear();
}

}  // namespace plimsoll::agent
