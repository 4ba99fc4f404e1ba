// When a pod's containers start again, and why they wait until then.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_RESTARTS_H_
#define PLIMSOLL_AGENT_PODS_LIFE_RESTARTS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/pods/life/back_off.h"
#include "agent/pods/life/plan.h"
#include "agent/pods/life/pod_starter.h"
#include "agent/pods/life/retries.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods/status/pod_status.h"
#include "base/clock.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// The pauses of one pod: kubelet's CrashLoopBackOff after a run that ended, ImagePullBackOff and
// the like after a start that failed. A run that ended for a resize makes no pause. Used by one
// thread at a time. References outlive it.
class Restarts {
 public:
  Restarts(const Clock& clock, KubeEventLog& events) : clock_(clock), events_(events) {}

  // After the agent's start: takes the pauses from the attempts that the runtime reports. Later
  // calls change nothing.
  void Recall(const pod::Manifest& pod, const ObservedPod& observed);
  // The earliest start of the next run (for PlanFor).
  absl::Time NotBefore(const PodRecord& record, const ObservedContainer& ended) const;
  // Notes which containers wait for the end of such a pause, by the plan, and reports each once.
  void Note(const PodRecord& record, const pod::Manifest& pod, const ObservedPod& observed,
            const PodPlan& plan);

  // How long a start has to wait after a failed one; zero: it may begin, and counts from now on.
  // `last`: the container's newest run; may be null.
  absl::Duration BeforeStart(const PodRecord& record, const pod::ContainerManifest& container,
                             const ObservedContainer* last);
  // After a start that began at `began`. Returns how long until it is retried, counted from there;
  // infinite: it succeeded.
  absl::Duration AfterStart(const std::string& container, absl::Time began,
                            const std::optional<PodStarter::Failure>& failure);

  // By container.
  const std::map<std::string, Waiting>& waiting() const { return waiting_; }

 private:
  const Clock& clock_;
  KubeEventLog& events_;
  BackOff runs_;    // after runs that ended, by container
  Retries starts_;  // after starts that failed, by container
  std::map<std::string, Waiting> waiting_;
  bool has_recalled_ = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_RESTARTS_H_
