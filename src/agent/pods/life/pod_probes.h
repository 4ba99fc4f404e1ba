// One pod and its probes.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_PROBES_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_PROBES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_stopper.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/probes/probe_kind.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Gives the prober the pod's containers, and acts on their probes' results. Which startup probes
// have succeeded is kept in a file of the pod's directory, so that the next agent doesn't run them
// again. Used by one thread at a time. All references outlive it.
class PodProbes {
 public:
  PodProbes(const PodHost& host, const pod::Manifest& pod) : host_(host), pod_(pod) {}
  // No probe of the pod is begun after this.
  ~PodProbes();
  PodProbes(const PodProbes&) = delete;
  PodProbes& operator=(const PodProbes&) = delete;

  // Brings the probes to the pod's present state. A pod that has ended has none.
  void Look(const PodRecord& record, const ObservedPod& observed, bool has_ended);

  // The health at the last look, by a running container's id.
  const std::map<std::string, ContainerHealth>& health() const { return health_; }
  // The startup probe of a running container has succeeded, or there is none.
  bool HasStarted(const ObservedContainer& container) const;

  // Stops the containers whose liveness or startup probe has failed, each within its grace period.
  // True: there were some. The first error; the rest is stopped all the same.
  absl::StatusOr<bool> StopFailed(const PodRecord& record, const ObservedPod& observed,
                                  PodStopper& stopper);
  // Marks the containers that StopFailed has stopped, for the plan. Forgets those that have gone.
  void Mark(ObservedPod& observed);

 private:
  std::string StartedFile(const std::string& uid) const;
  void ReadStarted(const std::string& uid);
  void KeepStarted(const std::string& uid);

  const PodHost& host_;
  const pod::Manifest& pod_;
  std::string uid_;  // empty before the first look
  std::map<std::string, ContainerHealth> health_;
  std::set<std::string> started_;  // running containers whose startup probe has succeeded, by id
  std::set<std::string> stopped_;  // containers that StopFailed has stopped, by id
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_PROBES_H_
