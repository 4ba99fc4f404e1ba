// The control groups of pods: which of them Plimsoll makes, who owns them, and their removal.
//
//   groups.Make(&record)                     planned, on record, made; the record is in the making
//   groups.Finish(&record, [&] { ... })      its sandbox is among Objects
//   groups.RemoveAll(*sandbox)               with the sandbox
//
// Several pods may name one cgroup parent. The pod that made a group owns it; when that pod goes
// first, another pod that uses the group inherits it.
#ifndef PLIMSOLL_RUNTIME_POD_GROUPS_H_
#define PLIMSOLL_RUNTIME_POD_GROUPS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "linux/cgroup/readier.h"
#include "runtime/engine_options.h"
#include "runtime/objects.h"

namespace plimsoll::runtime {

// Uses `cgroups`, `store`, `events` and `runtime` of the options, and Objects; no other part of the
// engine. Both arguments must outlive it.
//
// Thread-safe. Its lock stands before Sandbox::mutex and is held over calls to the kernel and the
// store: who owns which group changes only under it. A record in the making is read and written by
// an inheritance, in any thread: its owner writes to its groups only in Write, Finish or after
// Forget.
class PodGroups {
 public:
  PodGroups(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects), readier_(options.cgroups, options.host) {}

  // Fills the record's `cgroup_path` and `owned_cgroups`, writes its row, and makes the groups with
  // the limits of the pod: nothing is ours that the store doesn't know of. Once the row is written
  // the record is in the making. An error leaves what was made by then, for Remove.
  absl::Status Make(SandboxRecord* record);
  // Runs `finish`, which adds the record's sandbox to Objects. If it is OK, the record is in the
  // making no more; in between, no group is handed to either.
  absl::Status Finish(const SandboxRecord* record, absl::FunctionRef<absl::Status()> finish);
  // For records that are in neither list yet, as recovery has them, and those that never finish.
  void SetInTheMaking(SandboxRecord* record);
  void Forget(const SandboxRecord* record);
  // Runs `write`, which writes to a record in the making.
  void Write(absl::FunctionRef<void()> write);

  // Removes the groups that the record owns and nobody inherits, innermost first. Each is tried;
  // the first error is returned. OK for groups that are gone.
  absl::Status Remove(const SandboxRecord& record);
  // The same of a sandbox that is among Objects. On success its record names no group any more, so
  // that it inherits none.
  absl::Status RemoveAll(Sandbox& sandbox);

  // A hint that a process is about to be put into a new group: see linux::CgroupReadier.
  void ExpectProcess() { readier_.Expect(); }

 private:
  absl::Status Plan(SandboxRecord* record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakePlanned(SandboxRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Limit(const SandboxRecord& record) const;
  absl::Status RemoveLocked(const SandboxRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes another sandbox that uses the group its owner. False: there is none.
  absl::StatusOr<bool> HandOver(const std::string& group, const std::string& from)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status GiveTo(SandboxRecord* heir, const std::string& group) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineOptions& options_;
  const Objects* const objects_;
  absl::Mutex mutex_;
  std::vector<SandboxRecord*> in_the_making_ ABSL_GUARDED_BY(mutex_);
  linux::CgroupReadier readier_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_GROUPS_H_
