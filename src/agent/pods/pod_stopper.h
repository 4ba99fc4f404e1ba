// The end of one pod's containers and sandboxes.
#ifndef PLIMSOLL_AGENT_PODS_POD_STOPPER_H_
#define PLIMSOLL_AGENT_PODS_POD_STOPPER_H_

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/observed_pod.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_record.h"
#include "pod/manifest.h"

namespace plimsoll::agent {

// Stop and Remove are used by one thread at a time, Hasten by any. All references outlive it.
class PodStopper {
 public:
  PodStopper(const PodHost& host, const pod::Manifest& pod) : host_(host), pod_(pod) {}
  // Waits for the calls that Hasten began.
  ~PodStopper();

  // Stops the containers of a sandbox, then the sandbox: ordinary and init containers at once, then
  // sidecars in the reverse order of their starts. Each runs its preStop hook, gets the stop
  // signal, and SIGKILL after the grace period, which the hook's time counts in. The first error;
  // the rest is done all the same.
  absl::Status Stop(const PodRecord& record, const ObservedPod& observed,
                    const std::string& sandbox, int64_t grace_s);
  // Stops one container, likewise; OK for one that has gone. `why` is the event's text. Several
  // threads may call it at once.
  absl::Status StopOne(const PodRecord& record, const ObservedContainer& container, int64_t grace_s,
                       const std::string& why);
  // Shortens the grace period of all stops, the one that Stop waits for and later ones. Returns at
  // once.
  void Hasten(int64_t grace_s);
  // Removes all sandboxes, which are stopped, with their containers.
  absl::Status Remove(const ObservedPod& observed);

 private:
  // Null: the manifest has no such container.
  const pod::ContainerManifest* ManifestOf(const ObservedContainer& container) const;
  // Runs the hook. What is left of the grace period, in seconds.
  int64_t RunPreStop(const PodRecord& record, const ObservedContainer& container, int64_t grace_s);
  absl::Status StopContainers(const PodRecord& record,
                              const std::vector<const ObservedContainer*>& containers,
                              int64_t grace_s);
  int64_t AtMost(int64_t grace_s);

  const PodHost& host_;
  const pod::Manifest& pod_;
  absl::Mutex mutex_;
  std::set<std::string> stopping_ ABSL_GUARDED_BY(mutex_);  // ids of containers
  int64_t most_grace_s_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max();
  std::vector<std::thread> hastening_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_POD_STOPPER_H_
