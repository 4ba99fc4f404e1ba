// The control groups of pods: their creation, owners and removal.
//
//   groups.Make(&record)                     plans, records and makes the groups
//   groups.Finish(&record, [&] { ... })      adds the sandbox to Objects
//   groups.RemoveAll(*sandbox)               with the sandbox
//
// Several pods may name one cgroup parent. The pod that made a group owns it; when that pod goes
// first, another pod that uses the group inherits it: the removal would fail while that pod runs,
// or take the group from under it.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_POD_GROUPS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_POD_GROUPS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "linux/cgroup/readier.h"
#include "runtime/cgroups/node_confinement.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

// Uses `cgroups`, `default_cgroup_parent`, `host`, `store`, `events` and `runtime` of the options,
// Objects, and NodeConfinement for the cpuset of a pod's group; no other part of the engine. The
// arguments must outlive this object.
//
// Thread-safe. Its lock comes before Sandbox::mutex and is held over calls to the kernel and the
// store: a group's owner changes only under it. From Make to Finish or Forget a record is "in the
// making": an inheritance may read and write it in any thread, so its owner changes it only in
// Write, Finish or after Forget.
class PodGroups {
 public:
  PodGroups(const EngineOptions& options, const Objects* objects,
            const NodeConfinement* confinement)
      : options_(options),
        objects_(objects),
        confinement_(confinement),
        readier_(options.cgroups, options.host) {}

  // Fills the record's `cgroup_path` and `owned_cgroups`, writes its row, and only then makes the
  // groups with the limits of the pod: the store knows every group that Plimsoll owns. Once the row
  // is written the record is in the making. After an error, Remove removes the groups made so far.
  absl::Status Make(SandboxRecord* record);
  // Runs `finish`, which adds the record's sandbox to Objects. If that is OK, the record is no
  // longer in the making. Meanwhile neither the record nor the sandbox inherits a group.
  absl::Status Finish(const SandboxRecord* record, absl::FunctionRef<absl::Status()> finish);
  // Adds a record to those in the making, as recovery needs for records without a sandbox in
  // Objects; Forget takes the record out.
  void SetInTheMaking(SandboxRecord* record);
  void Forget(const SandboxRecord* record);
  // Runs `write`, which changes a record in the making, under this object's lock.
  void Write(absl::FunctionRef<void()> write);

  // Removes the groups that the record owns and no other pod inherits, innermost first. Tries each,
  // and returns the first error. OK for groups that are gone.
  absl::Status Remove(const SandboxRecord& record);
  // Remove for a sandbox among Objects. After success its record names no group, so that it
  // inherits none.
  absl::Status RemoveAll(Sandbox& sandbox);

  // Hints that a process is about to be put into a new group: see linux::CgroupReadier.
  void ExpectProcess() { readier_.Expect(); }

 private:
  absl::Status Plan(SandboxRecord* record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakePlanned(SandboxRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Limit(const SandboxRecord& record) const;
  absl::Status RemoveLocked(const SandboxRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the group to another sandbox that uses it. False: there is none.
  absl::StatusOr<bool> HandOver(const std::string& group, const std::string& from)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status GiveTo(SandboxRecord* heir, const std::string& group) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineOptions& options_;
  const Objects* const objects_;
  const NodeConfinement* const confinement_;
  absl::Mutex mutex_;
  std::vector<SandboxRecord*> in_the_making_ ABSL_GUARDED_BY(mutex_);
  linux::CgroupReadier readier_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_POD_GROUPS_H_
