// One pod's state that threads share: its record, and the pod as its last step saw it.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_POD_STATE_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_POD_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/records/pod_store.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// A spec that a living pod is asked for from now on. It differs from the pod's in what ChangeOf
// lets change.
struct SpecChange {
  nlohmann::json object;
  // The manifest of `object`, if the node has room for it: steps act on it. Else null, and steps
  // use what the pod has.
  std::shared_ptr<const pod::Manifest> manifest;
  std::optional<PodVerdict> pending;  // why it is null
};

enum class PodOrigin {
  kRecord,  // an agent of before put it on record: it may have ended since
  kNew,     // it was put on record just now: the runtime has nothing of it
};

// The only writer of the pod's row: a change is on the disk before any thread sees it, and one that
// fails leaves everything as it was. Changes of a removed pod are NOT_FOUND. Thread-safe.
class PodState {
 public:
  // `store` outlives this. `manifest` is that of record.Allocated().
  PodState(PodStore& store, PodRecord record, std::shared_ptr<const pod::Manifest> manifest,
           PodOrigin origin = PodOrigin::kRecord);
  PodState(const PodState&) = delete;
  PodState& operator=(const PodState&) = delete;

  PodRecord record() const;
  // Shows `look` the record, with the lock held, so that it calls nothing of the pod: a copy of all
  // of it, with its JSON, is too dear for each pod whenever one comes or goes.
  void Read(absl::FunctionRef<void(const PodRecord&)> look) const;
  PodGrant grant() const;  // the record's
  // With the resources that the node has given the pod. A later change makes another one.
  std::shared_ptr<const pod::Manifest> manifest() const;
  // The observation of the last step.
  ObservedPod observed() const;
  // The pod counts in the node's use: it has not ended.
  bool is_active() const;
  // A step has seen the runtime's pod.
  bool has_looked() const;
  // is_active is up to date: the pod is new, or a step has looked.
  bool is_known() const;
  // Whether the pod's CPUs, memory and devices are not free: a container of it may still use them.
  bool holds_grant() const;

  // `manifest`: of the changed record, if that is another one.
  absl::Status Change(absl::FunctionRef<void(PodRecord&)> change,
                      std::shared_ptr<const pod::Manifest> manifest = nullptr);
  // Puts the pod's end on record. False: it ends already, as soon or sooner.
  absl::StatusOr<bool> Delete(absl::Time now, int64_t grace_s);
  absl::Status Put(const SpecChange& change);
  // Puts a verdict on record, by which the pod fails. OK where it has one.
  absl::Status Evict(const PodVerdict& verdict);
  // Takes the grant of a pod that has ended off its record. OK for a removed one.
  absl::Status ReleaseGrant();
  // Takes the removed pod off the disk.
  absl::Status Forget();

  // nullopt: the pod has ended, and its grant goes off its record. Else CPUs and memory are those
  // of `grant`; devices and plugins' answers stay.
  struct Regrant {
    PodState* pod = nullptr;
    std::optional<PodGrant> grant;
  };
  // Puts all of them on record, or none; pods that have gone are left out. Each pod once. Errors of
  // the store.
  static absl::Status PutGrants(PodStore& store, std::vector<Regrant> regrants);

  // Devices came, or their health changed: the next step is to know.
  void OnDevices();
  struct Begun {
    PodRecord record;
    std::shared_ptr<const pod::Manifest> manifest;
    bool has_device_news = false;  // since the step before
  };
  // A step begins, and may start containers from now on. It acts on the result.
  Begun BeginStep();
  // The step's outcome. True: room on the node is free for others that was not before.
  bool EndStep(ObservedPod observed, bool has_ended);

  struct Shown {
    PodRecord record;
    std::shared_ptr<const pod::Manifest> manifest;
    uint64_t changes = 0;  // of the record so far
  };
  Shown ToShow() const;
  // The record is the one that `shown` has. Waits for nothing: mutex_ is held over writes to disk.
  bool IsLatest(const Shown& shown) const;

 private:
  static void Apply(const std::optional<PodGrant>& grant, PodRecord& record);
  // The rest of PutGrants, with the locks of the pods before held. `next`: their records.
  static absl::Status PutLocked(PodStore& store, absl::Span<const Regrant> regrants,
                                std::vector<PodRecord>& next);
  bool HasEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HoldsGrant() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  PodStore& store_;
  const std::string uid_;
  mutable absl::Mutex mutex_;
  PodRecord record_ ABSL_GUARDED_BY(mutex_);
  // Changes of the record. Written with mutex_ held, before the record.
  std::atomic<uint64_t> changes_ = 0;
  std::shared_ptr<const pod::Manifest> manifest_ ABSL_GUARDED_BY(mutex_);  // of Allocated()
  ObservedPod observed_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;  // in the runtime, as of the last step
  enum class Seen { kNever, kNew, kByAStep };
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_device_news_ ABSL_GUARDED_BY(mutex_) = false;
  // A step began before the pod's end, and has not yet told of the containers that it started.
  bool may_have_started_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_POD_STATE_H_
