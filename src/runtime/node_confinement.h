// Keeps pods on their part of the node: the CPUs and memory nodes that pods may use now, what that
// makes of each container's cpuset, and who follows when it changes.
//
//   const NodeConfinement::ShareNow now = confinement.Current();
//   confinement.ConfineAsked(asked, now, /*is_new=*/true)        -> what the kernel is given
//   ...                                                          the container is made
//   if (confinement.Current().epoch != now.epoch) confinement.FollowShare(*container);
#ifndef PLIMSOLL_RUNTIME_NODE_CONFINEMENT_H_
#define PLIMSOLL_RUNTIME_NODE_CONFINEMENT_H_

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
#include "runtime/confine.h"
#include "runtime/engine_options.h"
#include "runtime/node_share.h"
#include "runtime/objects.h"
#include "runtime/told_share.h"

namespace plimsoll::runtime {

// Uses `cgroups`, `runtime`, `classes`, `events`, `host` and `run` of the options, and Objects; no
// other part of the engine. Both arguments must outlive it.
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
    int64_t epoch = 0;  // of the share: another one has been set when it differs
  };

  NodeConfinement(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // Reads what clients were told by a daemon of this boot. Once, before anything else.
  void Load(const std::string& boot_id);

  // What of the node pods may use, from now on. Until the first call nothing is known and nobody is
  // confined. Pods and containers follow in another thread, with an event for each that loses or
  // gets back CPUs or memory nodes that it asked for.
  void SetShare(const NodeShare& share);
  // What becomes of a request for more than the share: refused, else clipped, as at first.
  void RefuseOutside(bool refuse);
  ShareNow Current() const;
  // Whether this machine confines at all.
  bool HasCpusets() const;

  // What the kernel is to be given for what a client asks for. As Confine, and INVALID_ARGUMENT for
  // what this machine lacks and no client was told of.
  absl::StatusOr<Confined> ConfineAsked(const linux::CgroupSettings& asked, const ShareNow& now,
                                        bool is_new);
  // The same for a container that is there already: nothing is refused.
  void PutIntoShare(linux::CgroupSettings* asked) const;
  // What of the share is there for groups in the pod's: on v1 a group has no CPU that its parent
  // lacks.
  NodeShare ShareIn(const SandboxRecord& pod, const NodeShare& share) const;
  // Narrows `given` to the pod's own cpuset in those lists that `asked` leaves to the share.
  void PutIntoPod(const std::string& sandbox_id, const linux::CgroupSettings& asked,
                  const NodeShare& share, linux::CgroupSettings* given) const;

  // Gives the container, or the init of the pod's PID namespace, its part of the share of now. What
  // fails is told as a warning. One that has ended is passed over.
  void FollowShare(Container& container) const;
  void FollowShare(const Sandbox& sandbox) const;
  // Adds an event where what the container lost of its request differs from what was told last.
  void TellLost(Container& container, const Confined& confined) const;

 private:
  void FollowAll() const;
  // Returns the cpusets of pods that can be set only once the groups within have followed.
  std::map<std::string, linux::CgroupSettings> FollowInParents(
      const std::vector<std::shared_ptr<Sandbox>>& sandboxes) const;
  // Stores what clients were told, if that could not be stored when they were.
  void KeepTold();

  const EngineOptions& options_;
  const Objects* const objects_;
  mutable absl::Mutex mutex_;
  NodeShare share_ ABSL_GUARDED_BY(mutex_);
  ToldShare told_ ABSL_GUARDED_BY(mutex_);
  OutsideShare outside_ ABSL_GUARDED_BY(mutex_) = OutsideShare::kClip;
  int64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> follow_is_due_ = false;
  // Last, so that its thread ends before what it uses. One follows while another is due.
  WorkerPool follower_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_NODE_CONFINEMENT_H_
