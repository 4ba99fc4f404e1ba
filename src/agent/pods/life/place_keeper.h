// Keeps running containers on the CPUs and NUMA nodes that they shall have, and their amounts as
// the node is now.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_PLACE_KEEPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_PLACE_KEEPER_H_

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/pods/life/back_off.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Compares what the runtime reports of each running container with what it shall have, and sends
// the difference by UpdateContainerResources: cpuset, memory nodes, the quota that exclusive CPUs
// have none of, and after a change of the node's memory or swap oom_score_adj and the limit of swap
// (KEP-3953). A class of type oom governs its container's score. Used by one thread at a time.
class PlaceKeeper {
 public:
  struct Outcome {
    std::set<std::string> changed;                    // ids of containers: read them again
    absl::Duration pause = absl::InfiniteDuration();  // until a failed call's retry
  };
  // A failure is an event, and retried after a pause; so is an update without effect. One of a
  // runtime that is away is retried soon. A runtime without such updates is left alone, which is an
  // event of the pod, once. A runtime that doesn't change oom_score_adj is an event of the node,
  // once.
  Outcome Keep(const PodHost& host, const PodRecord& record, const pod::Manifest& pod,
               const ObservedPod& observed);
  // True once in each period, where managers confine containers: what the runtime says has to be
  // read again, since others may have changed it. `next`: how long until then.
  bool IsDue(const PodHost& host, absl::Duration& next);

 private:
  using Resources = ::runtime::v1::LinuxContainerResources;

  struct LivingPod {
    const PodHost& host;
    const PodRecord& record;
    const pod::Manifest& manifest;
  };
  // Returns how long to wait with the next look at it.
  absl::Duration KeepOne(const LivingPod& pod, const ObservedContainer& run, const Resources& wish,
                         std::set<std::string>& changed);
  absl::Duration Send(const LivingPod& pod, const ObservedContainer& run, const Resources& update,
                      std::set<std::string>& changed);
  absl::Duration Fail(const PodHost& host, const PodRecord& record, const ObservedContainer& run,
                      const Resources& update, absl::string_view why);

  // The runtime has no UpdateContainerResources.
  void TellOfNoCall(const PodHost& host, const PodRecord& record, const ObservedContainer& run,
                    const Resources& update);

  // The part that this keeper has sent.
  struct Sent {
    Resources all;     // each member as last sent
    std::string last;  // the last update that the runtime took; another one like it has no use
    bool has_no_call = false;  // UNIMPLEMENTED
    std::string failed;        // the last update that did
    absl::Time retry_at;       // of that
  };
  BackOff back_off_;
  std::map<std::string, Sent> sent_;  // by id
  bool has_told_of_no_call_ = false;
  absl::Time due_ = absl::InfinitePast();
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_PLACE_KEEPER_H_
