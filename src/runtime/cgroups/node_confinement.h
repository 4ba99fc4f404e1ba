// Confinement of pods to their share of the node: the CPUs and memory nodes that pods may use now,
// each container's cpuset within them, and the changes of cpusets when the share changes.
//
//   const NodeConfinement::ShareNow now = confinement.Current();
// confinement.ConfineAsked(asked, now, /*is_new=*/true) -> the kernel's values
//   ...                                                          the container is made
//   if (confinement.Current().epoch != now.epoch) confinement.FollowShare(*container);
#ifndef PLIMSOLL_RUNTIME_CGROUPS_NODE_CONFINEMENT_H_
#define PLIMSOLL_RUNTIME_CGROUPS_NODE_CONFINEMENT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "runtime/cgroups/confine.h"
#include "runtime/cgroups/node_share.h"
#include "runtime/cgroups/parent_cpusets.h"
#include "runtime/cgroups/told_share.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

// Uses `cgroups`, `runtime`, `classes`, `events`, `host` and `run` of the options, and Objects; no
// other part of the engine. Both arguments must outlive this object.
//
// Thread-safe. Its lock guards the share alone, is held for moments, at most for one write of the
// told share's file, and stands after all others but the event log's. Following takes
// Container::cpuset, the class registry's definitions() and Container::mutex, in that order.
class NodeConfinement {
 public:
  struct ShareNow {
    NodeShare share;
    NodeShare told;  // the sum of all shares up to now that clients may count on
    OutsideShare outside = OutsideShare::kClip;
    int64_t epoch = 0;  // changes with each SetShare
  };

  NodeConfinement(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects), parents_(options.cgroups) {}

  // Loads the shares that earlier daemons of this boot told clients. Called once, before anything
  // else.
  void Load(const std::string& boot_id);

  // Sets the CPUs and memory nodes that pods may use. Until the first call no pod is confined.
  // Existing pods and containers follow in another thread. Each container that loses or regains
  // CPUs or memory nodes that it asked for gets an event. The same share again is followed too,
  // where the kernel may have taken a CPU of it away and brought it back: on cgroup v1 groups lose
  // such a CPU for good, and a container of that moment was made without it.
  void SetShare(const NodeShare& share);
  // Whether requests beyond the share are refused; false, the default, clips them.
  void RefuseOutside(bool refuse);
  // The share without those of its CPUs that are offline at this moment: the kernel refuses them
  // (v1), or gives others in their place (v2), and their events may still be on their way.
  ShareNow Current() const;
  // Whether this machine has cpusets to confine pods with.
  bool HasCpusets() const;

  // The kernel's values for a client's request: Confine, and CheckCpuset, which gives
  // INVALID_ARGUMENT for CPUs or memory nodes that this machine lacks and that no client was told
  // of.
  absl::StatusOr<Confined> ConfineAsked(const linux::CgroupSettings& asked, const ShareNow& now,
                                        bool is_new);
  // Confines the cpuset of a container that exists already: nothing is refused.
  void PutIntoShare(linux::CgroupSettings* asked) const;
  // ConfineAsked for the cpuset of a pod's own group: its errors, and what is lost.
  absl::StatusOr<std::string> CheckPod(const linux::CgroupSettings& asked);
  // Adds an event for a pod that lost something.
  void TellPodLost(const std::string& sandbox_id, const std::string& lost) const;
  // Clips those lists of a pod's own group that aren't empty. With none left: the whole share.
  void PutPodIntoShare(linux::CgroupSettings* asked) const;
  // The part of the share that groups below the pod's group can have: on v1 a group has no CPU that
  // its parent lacks.
  NodeShare ShareIn(const SandboxRecord& pod, const NodeShare& share) const;
  // Narrows `given` to the pod's own cpuset in those lists that `asked` leaves to the share.
  void PutIntoPod(const std::string& sandbox_id, const linux::CgroupSettings& asked,
                  const NodeShare& share, linux::CgroupSettings* given) const;

  // Writes the current share to the cpuset of the container, or of the init of the pod's PID
  // namespace. A failure becomes a warning. Does nothing after the container's or init's end.
  void FollowShare(Container& container) const;
  void FollowShare(const Sandbox& sandbox) const;
  // Adds an event if the part of its request that the container lost differs from the part told
  // last.
  void TellLost(Container& container, const Confined& confined) const;

 private:
  void FollowAll() const;
  // On v2: gives pods with a cpuset of their own the rest of it.
  void FollowInPods(const std::vector<std::shared_ptr<Sandbox>>& sandboxes) const;
  // On v1. Returns the cpusets of pods that can be set only after those of the groups below.
  std::map<std::string, linux::CgroupSettings> FollowInParents(
      const std::vector<std::shared_ptr<Sandbox>>& sandboxes) const;
  // On v1: remembers the cpusets of the groups above the pod that others made.
  void RememberParents(const SandboxRecord& pod) const;
  // Retries to store the told share, if an earlier write failed.
  void KeepTold();

  const EngineOptions& options_;
  const Objects* const objects_;
  mutable ParentCpusets parents_;
  mutable absl::Mutex mutex_;
  NodeShare share_ ABSL_GUARDED_BY(mutex_);
  ToldShare told_ ABSL_GUARDED_BY(mutex_);
  OutsideShare outside_ ABSL_GUARDED_BY(mutex_) = OutsideShare::kClip;
  int64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  // Current has left out a CPU of the share since the last SetShare.
  mutable bool has_left_out_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> follow_is_due_ = false;
  // Last, so that its thread ends before the members it uses. One job runs while another waits.
  WorkerPool follower_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_NODE_CONFINEMENT_H_
