// One pod's life, step by step.
#ifndef PLIMSOLL_AGENT_PODS_POD_WORKER_H_
#define PLIMSOLL_AGENT_PODS_POD_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/pods/back_off.h"
#include "agent/pods/class_keeper.h"
#include "agent/pods/live_volumes.h"
#include "agent/pods/observed_pod.h"
#include "agent/pods/place_keeper.h"
#include "agent/pods/plan.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_probes.h"
#include "agent/pods/pod_reader.h"
#include "agent/pods/pod_record.h"
#include "agent/pods/pod_starter.h"
#include "agent/pods/pod_stopper.h"
#include "agent/pods/resize_keeper.h"
#include "agent/pods/restarts.h"
#include "agent/pods/retries.h"

namespace plimsoll::agent {

// A spec that a living pod is asked for from now on. It differs from the pod's in what ChangeOf
// lets change.
struct SpecChange {
  nlohmann::json object;
  // Of `object`, if the node has room for it: steps act on it. Else null, and steps go on with what
  // the pod has.
  std::shared_ptr<const pod::Manifest> manifest;
  std::optional<PodVerdict> pending;  // why it is null
};

// Brings the runtime a step nearer to the record at each Step: looks, plans, acts, reports. A
// worker that begins anew after a crash does the same from what it finds.
class PodWorker {
 public:
  // `host` outlives this.
  PodWorker(const PodHost& host, PodRecord record, pod::Manifest manifest);
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
  // NOT_FOUND: the pod has gone.
  absl::Status Delete(int64_t grace_s);
  // Puts the change on record, whole or not at all. Errors as Delete's.
  absl::Status Put(const SpecChange& change);
  // Puts a verdict on record, by which the pod fails; the next step stops it. OK where it has one.
  // NOT_FOUND: the pod has gone.
  absl::Status Evict(const PodVerdict& verdict);
  const PodKey& key() const { return key_; }
  const std::string& uid() const { return uid_; }
  PodRecord record() const;
  // The record's: a copy of all of it, with its JSON, is too dear for each pod at each admission.
  PodGrant grant() const;
  // With the resources that the node has given the pod. A later change makes another one.
  std::shared_ptr<const pod::Manifest> manifest() const;
  // The pod counts in the node's use: it has not ended.
  bool is_active() const;
  // As of the last step.
  ObservedPod observed() const;
  // Its CPUs, memory and devices are not free: a container of it may still use them.
  bool holds_grant() const;
  // Takes the grant of a pod that has ended off its record.
  absl::Status ReleaseGrant();
  // Another grant of a pod, after the node's CPUs or memory changed. nullopt: the pod has ended,
  // and its grant goes off its record. Else CPUs and memory are those of `grant`, devices and
  // plugins' answers stay, and the pod's next steps bring its containers there.
  struct Regrant {
    PodWorker* pod = nullptr;
    std::optional<PodGrant> grant;
  };
  // Puts all of them on record, or none; pods that have gone are left out. Each pod once. Errors of
  // the store.
  static absl::Status PutGrants(PodStore& store, std::vector<Regrant> regrants);
  // Devices came, or their health changed: what waits for a plugin is tried again.
  void OnDevices();
  // A step has seen the runtime's pod, so that is_active tells the truth.
  bool has_looked() const;

 private:
  using Pause = absl::Duration;

  // The only writer of the pod's row. NOT_FOUND once the pod has gone.
  // `manifest`: of the changed record, if that is another one.
  absl::Status Change(absl::FunctionRef<void(PodRecord&)> change,
                      std::shared_ptr<const pod::Manifest> manifest = nullptr);
  absl::Status Forget();
  static void Apply(const std::optional<PodGrant>& grant, PodRecord& record);
  // The rest of PutGrants, with the locks of the pods before held. `next`: their records.
  static absl::Status PutLocked(PodStore& store, absl::Span<const Regrant> regrants,
                                std::vector<PodRecord>& next);
  // Takes the record's manifest for the step that begins.
  PodRecord Begin();
  Next End(const PodRecord& record, const ObservedPod& observed);
  Pause GoOn(const PodRecord& begun, ObservedPod seen);
  // Stops the containers whose probes have failed, and looks again if there are any.
  absl::Status StopUnhealthy(const PodRecord& record, ObservedPod& observed);
  // Reads the pod from the runtime, anew where its places have to be looked at.
  absl::StatusOr<ObservedPod> Look(Pause& pause);
  // Puts places and amounts in force that have changed; `observed` is then as after it.
  void KeepPlaces(const PodRecord& record, ObservedPod& observed, Pause& pause);
  // Gives the pod's group its quota, or none, where exclusive CPUs have come or gone.
  void KeepGroup(const PodRecord& record, const ObservedPod& observed, Pause& pause);
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
  // Of the stepping thread: the manifest as of the step's begin, to which the parts below refer.
  pod::Manifest manifest_;
  PodReader reader_;
  PodStarter starter_;
  PodStopper stopper_;
  LiveVolumes volumes_;
  PodProbes probes_;
  struct Memory {
    std::shared_ptr<const pod::Manifest> begun;  // what manifest_ is a copy of
    Restarts restarts;
    Retries retries;      // of the sandbox, of plugins' answers and of the group's quota
    std::string failure;  // the sandbox can't be made
    ClassKeeper classes;
    PlaceKeeper places;
    ResizeKeeper resizes;
    // The pod has exclusive CPUs, as its group was told last; nullopt: not by this agent.
    std::optional<bool> group_exclusive;
    std::set<std::string> stopped;  // sandboxes, by id
    std::optional<PodEnd> end;      // as last planned
    bool has_dropped_group = false;
    bool is_new = false;  // its first containers are being started
  };
  Memory memory_;

  struct Shared {
    PodRecord record;
    uint64_t changes = 0;                           // of the record
    std::shared_ptr<const pod::Manifest> manifest;  // of record.Allocated()
    ObservedPod observed;
    bool has_ended = false;
    bool has_looked = false;
    bool is_gone = false;
    bool has_device_news = false;  // since the last step began
    // A step began before the pod's end, and has not yet told of the containers that it started.
    bool may_have_started = false;
  };
  mutable absl::Mutex mutex_;
  Shared shared_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_POD_WORKER_H_
