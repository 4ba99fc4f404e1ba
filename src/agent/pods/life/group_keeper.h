// Keeps one pod's control group as the pod's CPUs and its end want it.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_GROUP_KEEPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_GROUP_KEEPER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/retries.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// A pod's start makes the group (PodStarter), and a resize brings its amounts by itself
// (PodResizer); this does the rest. Used by one thread at a time.
class GroupKeeper {
 public:
  // `grant`: the record's, as the pod's worker begins.
  explicit GroupKeeper(const PodGrant& grant);

  // Gives the group of a running pod its CPU quota, or none, where exclusive CPUs have come or
  // gone. Returns how long until a failed write's retry. A failure is an event, and retried after a
  // growing pause; one that passes by itself is retried soon, without a word.
  absl::Duration KeepQuota(const PodHost& host, const PodRecord& record, const pod::Manifest& pod,
                           const ObservedPod& observed);
  // Removes the group of a pod that has ended, once, as kubelet does: a QoS class weighs by its
  // living pods, and memory that is charged to the group is given back. While something runs in it
  // nothing happens. An error is to be retried.
  absl::Status RemoveOnce(const PodHost& host, const PodRecord& record, const ObservedPod& last);
  // The pod lives. An ended pod runs again if another client has removed its sandbox: the next end
  // then removes the group once more.
  void OnLife() { is_removed_ = false; }

 private:
  Retries retries_;
  // The pod has exclusive CPUs, as its group was told last; nullopt: not by this agent.
  std::optional<bool> is_exclusive_;
  bool is_removed_ = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_GROUP_KEEPER_H_
