// One pod's life, step by step.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_WORKER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/pods/life/back_off.h"
#include "agent/pods/life/class_keeper.h"
#include "agent/pods/life/group_keeper.h"
#include "agent/pods/life/live_volumes.h"
#include "agent/pods/life/place_keeper.h"
#include "agent/pods/life/plan.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_probes.h"
#include "agent/pods/life/pod_reader.h"
#include "agent/pods/life/pod_starter.h"
#include "agent/pods/life/pod_stopper.h"
#include "agent/pods/life/resize_keeper.h"
#include "agent/pods/life/restarts.h"
#include "agent/pods/life/retries.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/records/pod_state.h"

namespace plimsoll::agent {

// Brings the runtime a step nearer to the record at each Step: looks, plans, acts, reports. A
// worker that begins again after a crash does the same from what it finds.
class PodWorker {
 public:
  // `host` outlives this.
  PodWorker(const PodHost& host, PodRecord record, pod::Manifest manifest,
            PodOrigin origin = PodOrigin::kRecord);
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  struct Next {
    bool gone = false;  // nothing is left of the pod, and no record of it
    absl::Duration pause = absl::InfiniteDuration();  // until a look without news
  };
  // May wait a whole grace period. One thread at a time.
  Next Step();

  // Thread-safe, as the next ones. Puts the end on record; steps do the rest. A shorter grace
  // period than that of an end under way overtakes it. An error leaves everything as it was;
  // NOT_FOUND: the pod is removed.
  absl::Status Delete(int64_t grace_s);
  // Puts the change on record, whole or not at all. Errors as Delete's.
  absl::Status Put(const SpecChange& change) { return state_.Put(change); }
  // Puts a verdict on record, by which the pod fails; the next step stops it. OK where it has one.
  // NOT_FOUND: the pod is removed.
  absl::Status Evict(const PodVerdict& verdict) { return state_.Evict(verdict); }
  const PodKey& key() const { return key_; }
  const std::string& uid() const { return uid_; }
  // See PodState.
  PodRecord record() const { return state_.record(); }
  void Read(absl::FunctionRef<void(const PodRecord&)> look) const { state_.Read(look); }
  PodGrant grant() const { return state_.grant(); }
  std::shared_ptr<const pod::Manifest> manifest() const { return state_.manifest(); }
  bool is_active() const { return state_.is_active(); }
  bool has_looked() const { return state_.has_looked(); }
  bool is_known() const { return state_.is_known(); }
  ObservedPod observed() const { return state_.observed(); }
  bool holds_grant() const { return state_.holds_grant(); }
  absl::Status ReleaseGrant() { return state_.ReleaseGrant(); }
  // Another grant of a pod, after the node's CPUs or memory changed; the pod's next steps bring its
  // containers there. See PodState::Regrant.
  struct Regrant {
    PodWorker* pod = nullptr;
    std::optional<PodGrant> grant;
  };
  static absl::Status PutGrants(PodStore& store, const std::vector<Regrant>& regrants);
  // Devices came, or their health changed: what waits for a plugin is tried again.
  void OnDevices() { state_.OnDevices(); }

 private:
  using Pause = absl::Duration;

  // The work of Step, which turns an exception of this into a retry.
  Next TryStep();
  // Takes the record's manifest for the step that begins.
  PodRecord Begin();
  Next End(const PodRecord& record, const ObservedPod& observed);
  Pause GoOn(const PodRecord& begun, ObservedPod seen);
  // Stops the containers whose probes have failed, and looks again if there are any.
  absl::Status StopUnhealthy(const PodRecord& record, ObservedPod& observed);
  // Reads the pod from the runtime, again where its places have to be looked at.
  absl::StatusOr<ObservedPod> Look(Pause& pause);
  // Puts places and amounts in force that have changed; `observed` is then as after it.
  void KeepPlaces(const PodRecord& record, ObservedPod& observed, Pause& pause);
  // Reads containers and sandboxes again that have changed.
  void ReadAgain(const std::set<std::string>& changed, ObservedPod& observed, Pause& pause);
  // Asks plugins for what the containers get with their devices, once, and puts it on record.
  // False: nothing starts now, and `pause` says when to retry; or the pod has a verdict.
  bool BringDevices(PodRecord& record, Pause& pause);
  // UNAVAILABLE: a plugin is away. ABORTED: one has refused, which is the pod's verdict.
  absl::Status TryDevices(PodRecord& record);
  // Puts the classes of the manifest's fields in force; `observed` is then as after it.
  void KeepClasses(const PodRecord& record, ObservedPod& observed, Pause& pause);
  // False: a sandbox isn't stopped, so that its addresses and ports aren't free yet.
  bool StopSandboxes(const PodRecord& record, const ObservedPod& observed, const PodPlan& plan,
                     Pause& pause);
  // Puts a verdict on record once the pod is older than its activeDeadlineSeconds, and has not
  // ended. Returns how long it may still run.
  absl::StatusOr<Pause> CheckDeadline(PodRecord& record);
  // After a verdict.
  Pause StopAll(const PodRecord& record, const ObservedPod& observed);
  // Forgets runs that ended for a resize and have a successor.
  void ForgetRestarts(const PodRecord& record, const ObservedPod& observed);
  // The id of the sandbox that containers start in; empty: there is none, and `pause` says when to
  // retry.
  std::string EnsureSandbox(const PodRecord& record, const ObservedPod& observed,
                            const PodPlan& plan, Pause& pause);
  void StartContainers(const PodRecord& record, const ObservedPod& observed, const PodPlan& plan,
                       const std::string& sandbox, Pause& pause);
  void Tidy(const ObservedPod& observed, const PodPlan& plan);
  void Report(const ObservedPod& observed, const std::optional<PodEnd>& end);
  // Puts the pod on the board, as the record has it then.
  void Show(const ObservedPod& observed, const std::optional<PodEnd>& end);
  Next RetryAfter(const absl::Status& status);

  const PodHost& host_;
  const PodKey key_;
  const std::string uid_;
  // The stepping thread's: the manifest as of the step's begin, to which the parts below refer.
  pod::Manifest manifest_;
  PodReader reader_;
  PodStarter starter_;
  PodStopper stopper_;
  LiveVolumes volumes_;
  PodProbes probes_;
  struct Memory {
    std::shared_ptr<const pod::Manifest> begun;  // what manifest_ is a copy of
    Restarts restarts;
    Retries retries;      // of the sandbox and of plugins' answers
    std::string failure;  // the sandbox can't be made
    ClassKeeper classes;
    PlaceKeeper places;
    ResizeKeeper resizes;
    GroupKeeper group;
    std::set<std::string> stopped;  // sandboxes, by id
    std::optional<PodEnd> end;      // as last planned
    bool is_new = false;            // its first containers are being started
  };
  Memory memory_;

  PodState state_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_WORKER_H_
