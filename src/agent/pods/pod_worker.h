// One pod's life, step by step.
#ifndef PLIMSOLL_AGENT_PODS_POD_WORKER_H_
#define PLIMSOLL_AGENT_PODS_POD_WORKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/pods/back_off.h"
#include "agent/pods/observed_pod.h"
#include "agent/pods/plan.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_reader.h"
#include "agent/pods/pod_record.h"
#include "agent/pods/pod_starter.h"
#include "agent/pods/pod_stopper.h"

namespace plimsoll::agent {

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
  const PodKey& key() const { return key_; }
  const std::string& uid() const { return uid_; }
  PodRecord record() const;
  const pod::Manifest& manifest() const { return manifest_; }
  // The pod counts in the node's use: it has not ended.
  bool is_active() const;
  // As of the last step.
  ObservedPod observed() const;
  // A step has seen the runtime's pod, so that is_active tells the truth.
  bool has_looked() const;

 private:
  using Pause = absl::Duration;

  // The only writer of the pod's row. NOT_FOUND once the pod has gone.
  absl::Status Change(absl::FunctionRef<void(PodRecord&)> change);
  absl::Status Forget();
  Next End(const PodRecord& record, const ObservedPod& observed);
  Pause GoOn(const PodRecord& record, ObservedPod observed);
  // False: a sandbox isn't stopped, so that its addresses and ports aren't free yet.
  bool StopSandboxes(const PodRecord& record, const ObservedPod& observed, const PodPlan& plan,
                     Pause& pause);
  // Puts a verdict on record once the pod is older than its activeDeadlineSeconds, and has not
  // ended. Returns how long it may still run.
  absl::StatusOr<Pause> CheckDeadline(PodRecord& record);
  // After a verdict.
  Pause StopAll(const PodRecord& record, const ObservedPod& observed);
  // The id of the sandbox that containers start in; empty: there is none, and `pause` says when to
  // retry.
  std::string EnsureSandbox(const PodRecord& record, const ObservedPod& observed,
                            const PodPlan& plan, Pause& pause);
  void StartContainers(const PodRecord& record, const ObservedPod& observed, const PodPlan& plan,
                       const std::string& sandbox, Pause& pause);
  // After the agent's start: takes the pauses of restarts from the attempts that the runtime tells.
  void RecallPauses(const ObservedPod& observed);
  // Notes which containers wait for a restart.
  void NotePauses(const PodRecord& record, const ObservedPod& observed, const PodPlan& plan);
  void Tidy(const PodPlan& plan);
  void Report(const ObservedPod& observed, const std::optional<PodEnd>& end);
  Next RetryAfter(const absl::Status& status);

  const PodHost& host_;
  const PodKey key_;
  const std::string uid_;
  const pod::Manifest manifest_;
  // Of the stepping thread.
  PodReader reader_;
  PodStarter starter_;
  PodStopper stopper_;
  struct Memory {
    BackOff back_off;
    std::map<std::string, absl::Time> retry_at;  // by container; "" is the sandbox
    std::map<std::string, Waiting> waiting;      // by container
    std::string failure;                         // the sandbox can't be made
    std::set<std::string> stopped;               // sandboxes, by id
    std::optional<PodEnd> end;                   // as last planned
    bool has_recalled = false;                   // see RecallPauses
  };
  Memory memory_;

  struct Shared {
    PodRecord record;
    ObservedPod observed;
    bool has_ended = false;
    bool has_looked = false;
    bool is_gone = false;
  };
  mutable absl::Mutex mutex_;
  Shared shared_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_POD_WORKER_H_
