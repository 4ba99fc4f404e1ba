// The end of one pod's containers and sandboxes.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_STOPPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_STOPPER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/stop_turns.h"

namespace plimsoll::agent {

// Stop and Remove are used by one thread at a time, Hasten by any. All references outlive it.
class PodStopper {
 public:
  PodStopper(const PodHost& host, const pod::Manifest& pod) : host_(host), pod_(pod) {}
  // Waits for the calls that Hasten began.
  ~PodStopper();

  // Stops the containers of a sandbox, then the sandbox. All preStop hooks run at once. Ordinary
  // and init containers get the stop signal after their hooks. Sidecars get it once the ordinary
  // ones have ended, one after the other in the reverse order of their starts; they don't wait for
  // init containers. All of them share the grace period, hooks too, and
  // get SIGKILL at its end; each has two seconds in any case (kubelet's pod termination with
  // KEP-753). The first error; the rest is done all the same.
  absl::Status Stop(const PodRecord& record, const ObservedPod& observed,
                    const std::string& sandbox, int64_t grace_s);
  // Stops one container, likewise, and leaves the sandbox. OK for a removed one. `why` is the
  // event's text.
  absl::Status StopOne(const PodRecord& record, const ObservedContainer& container, int64_t grace_s,
                       const std::string& why);
  // Shortens the grace period of all stops, the one that Stop waits for and later ones. Returns at
  // once. A call that the runtime has already keeps its period if the machine gives no thread.
  void Hasten(int64_t grace_s);
  // Removes all sandboxes, which are stopped, with their containers.
  absl::Status Remove(const ObservedPod& observed);

 private:
  // A container of the sandbox that has not ended. Those of a lower rank end first. An init
  // container has none: it waits for nobody, and nobody for it.
  struct Doomed {
    const ObservedContainer* container = nullptr;
    std::optional<size_t> rank;
  };
  // In the order of ranks.
  std::vector<Doomed> DoomedOf(const ObservedPod& observed, const std::string& sandbox) const;
  void RunPreStop(const PodRecord& record, const ObservedContainer& container, int64_t grace_s);
  absl::Status StopContainers(const PodRecord& record, const std::vector<Doomed>& all,
                              int64_t grace_s);
  void TellKilling(const PodRecord& record, const ObservedContainer& container,
                   const std::string& why);
  absl::Status StopInTurn(const PodRecord& record, const Doomed& doomed, pod::StopTurns& turns);
  int64_t AtMost(int64_t grace_s);

  const PodHost& host_;
  const pod::Manifest& pod_;
  absl::Mutex mutex_;
  // Ids of containers that run their hook or get the stop signal: a wait for the turn is hastened
  // by the turns themselves.
  std::set<std::string> stopping_ ABSL_GUARDED_BY(mutex_);
  pod::StopTurns* turns_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the Stop under way
  int64_t most_grace_s_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max();
  std::vector<std::thread> hastening_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_STOPPER_H_
