// Pod-level classes as plimsoll-kube sets them: pod's uid -> type -> class, by claim.
//
// RunPodSandbox carries no CDI names, so a claim's class of a pod as a whole takes this way:
//
//   classes.Set(claim)        NodePrepareResources, before the pod's sandbox is made
//   classes.OfPod(uid)        RunPodSandbox of that uid
//   classes.Drop(claim_uid)   NodeUnprepareResources
#ifndef PLIMSOLL_CLUSTER_SOCKET_POD_CLASSES_H_
#define PLIMSOLL_CLUSTER_SOCKET_POD_CLASSES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "cluster_socket/claim_table.h"
#include "qos/registry.h"

namespace plimsoll::cluster {

struct PodClassesOptions {
  FsRoot directory;                   // of the table
  qos::Registry* registry = nullptr;  // null: the feature gate ClassResources is off
  // The classes held by the pod's sandbox that is ready or being made; nullopt: it has none.
  // Thread-safe.
  std::function<std::optional<qos::HeldClasses>(const std::string& pod_uid)> held_by;
  Clock* clock = &Clock::Real();
  // Claims at once. A full table first loses those that no Drop came for: pods without a sandbox,
  // told longer ago than `forgotten_after`, the oldest first.
  size_t most = 4096;
  size_t most_bytes = 3 << 20;  // of all their words: a List fits one message
  absl::Duration forgotten_after = absl::Hours(24);
};

// Thread-safe. Lookups never wait for the disk.
class PodClasses {
 public:
  // Never fails: with a table that can't be read each call has that error, so that no pod starts
  // without its class, and those that run are served.
  explicit PodClasses(PodClassesOptions options);

  // Replaces what the claim has told before. INVALID_ARGUMENT: a uid or name that none can be,
  // no class, or a type that only informs; NOT_FOUND as Registry::CheckKnown; FAILED_PRECONDITION:
  // another claim gives the pod another class of the type, the pod's sandbox runs without the
  // class, or classes are off; RESOURCE_EXHAUSTED: the table or the disk is full. Durable when it
  // returns OK.
  absl::Status Set(Claim claim);
  // OK when there is none. The pod's sandbox keeps its classes.
  absl::Status Drop(const std::string& claim_uid);
  absl::StatusOr<std::vector<Claim>> List() const;
  // The cluster's scheduler gives out classes from now on, or no longer. Durable.
  absl::Status SetScheduled(bool scheduled);

  // True also with a table that can't be read: then a class must not be had past the scheduler.
  bool scheduled() const;
  // All claims' classes of the pod; empty: none.
  absl::StatusOr<qos::ClassNames> OfPod(const std::string& pod_uid) const;
  // OK, or why the table can't be read.
  absl::Status readable() const;
  size_t size() const;

 private:
  absl::Status Check(const Claim& claim) const;
  // FAILED_PRECONDITION for a class that another claim or the pod's sandbox rules out.
  absl::Status CheckFits(const Claim& claim) const;
  // The oldest claim that no Drop came for.
  std::optional<std::string> Forgotten() const;
  // Whether the table can take the claim, in place of what it has told before.
  bool HasRoom(const Claim& claim) const;
  absl::Status MakeRoom(const Claim& claim) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);

  const PodClassesOptions options_;
  // Held over writes to the disk, and taken before mutex_.
  absl::Mutex writing_;
  std::unique_ptr<ClaimTable> table_ ABSL_GUARDED_BY(writing_);
  mutable absl::Mutex mutex_;
  absl::Status readable_ ABSL_GUARDED_BY(mutex_);
  StoredClaims claims_ ABSL_GUARDED_BY(mutex_);  // as on disk
};

}  // namespace plimsoll::cluster

#endif  // PLIMSOLL_CLUSTER_SOCKET_POD_CLASSES_H_
