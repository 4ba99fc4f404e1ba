// QoS classes of pods and containers: between the records and the class registry.
//
// The life of a holder, as qos/registry.h has it:
//
//   classes.Reserve(&record)            counted, before the first row is written
//   classes.Enforce(record)             in force, before the first instruction
//   classes.Change(*container, names)   any number of times
//   classes.Release(record)             once its last process has ended
//
// After a restart FinishChange and Adopt take the place of the first two.
#ifndef PLIMSOLL_RUNTIME_POD_CLASS_ASSIGNMENTS_H_
#define PLIMSOLL_RUNTIME_POD_CLASS_ASSIGNMENTS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "qos/registry.h"
#include "runtime/cgroups/node_confinement.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/inspection.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

// If the options have no class registry, calls do nothing, except that Change is NOT_FOUND if it
// names a class, and EffectiveOf gives the classes on record.
//
// Uses `classes`, `assign_classes`, `runtime`, `store`, `events` and `run` of the options, Objects,
// and NodeConfinement for the cpuset that is written when a container leaves a class. The arguments
// must outlive this object. The class registry may outlive it: its callbacks then do nothing.
//
// Thread-safe; the caller serializes the calls about one holder, as the registry requires.
// Presence's lock is held over the registry's callbacks, which read records and write rows: it
// comes after the registry's locks and before PodGroups'. The lock of `releases_` comes last and is
// held for moments. Change and releases take Container::classes before the registry's locks.
class ClassAssignments {
 public:
  ClassAssignments(const EngineOptions& options, const Objects* objects,
                   const NodeConfinement* confinement)
      : options_(options),
        objects_(objects),
        confinement_(confinement),
        presence_(std::make_shared<Presence>(this)) {}
  ~ClassAssignments() { presence_->End(); }
  ClassAssignments(const ClassAssignments&) = delete;
  ClassAssignments& operator=(const ClassAssignments&) = delete;

  // Makes the registry save the classes that a reload changes. Called once, before the first
  // reload.
  void SaveReloads();

  // Takes places in the classes that the record's spec asks for, and fills the record's `classes`.
  // Errors are the registry's. A container waits, some seconds at most, for places that are being
  // released: the container that just exited may be its predecessor. Takes over the
  // places of earlier attempts of the container that were never started, and of the pod's remains
  // (Objects::RemainsOf) in which nothing runs.
  absl::Status Reserve(SandboxRecord* record) const;
  absl::Status Reserve(ContainerRecord* record);
  // Called before the start of a container: takes its classes again if a later attempt had them.
  // Errors as of Reserve and Enforce; then it is in no class.
  absl::Status Retake(Container& container) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.operation);
  // Gives back the places of all containers that were never started and have a later attempt. For
  // recovery, which has adopted them.
  void ReleaseSuperseded() const;
  // Gives back the places that Reserve took for `id`, if Enforce never ran.
  void Cancel(const std::string& id) const;
  absl::Status Enforce(const SandboxRecord& record) const;
  absl::Status Enforce(const ContainerRecord& record) const;
  // Gives up all classes that the record's pod or container holds. If the kernel refuses a write,
  // the event log gets a warning; the places become free in any case.
  void Release(const SandboxRecord& record) const;
  void Release(const ContainerRecord& record) const;

  // Announces that the places of `held` will soon be free. The announcement lasts as long as the
  // result lives; Reserve waits for its end.
  std::shared_ptr<void> AnnounceRelease(const qos::HeldClasses& held);
  // Releases the classes of a container that is recorded as exited. Works in another thread if one
  // can be had, since a release waits for a class change under way, and drops `announced` at its
  // end. Does nothing for a container that is not recorded as exited: its failed creation undoes
  // itself.
  void ReleaseAtExit(const std::shared_ptr<Container>& container,
                     const std::shared_ptr<void>& announced);

  // Holders of classes, without places that are being released.
  std::vector<ClassHolder> Holders() const;

  // After a restart: ends a change that was cut off and enforces the classes as they are defined
  // now. `changed`: the record's `classes` differ and must be saved. The registry knows the holder
  // even after an error; classes that could not be enforced stay on record as they were.
  absl::Status Adopt(SandboxRecord* record, bool* changed) const;
  absl::Status Adopt(ContainerRecord* record, bool* changed) const;
  // Called before Adopt: if a cut-off update left its class change in the container's row, makes
  // Adopt enforce that change. `changed`: as for Adopt.
  absl::Status FinishChange(ContainerRecord* record, bool* changed) const;

  // The registry's errors of Change that need no question to the kernel.
  absl::Status CheckChange(const ContainerRecord& record, const qos::ClassNames& asked) const;
  // The classes to keep on record, for the types in `asked`, while Change moves the holder from
  // `held` to `asked`.
  qos::HeldClasses ChangingTo(const qos::HeldClasses& held, const qos::ClassNames& asked) const;
  // See qos::Registry::Change. FAILED_PRECONDITION for a container without a process, and for a
  // sandbox that is not Ready.
  absl::Status Change(Container& container, const qos::ClassNames& asked) const;
  absl::Status Change(Sandbox& sandbox, const qos::ClassNames& asked) const;

  // The effective class of every type; after the end of the pod or container, the classes on
  // record. `look`: also check them against the kernel.
  using Effective = std::map<std::string, qos::EffectiveClass>;
  Effective EffectiveOf(const ContainerRecord& record, bool look) const;
  Effective EffectiveOf(const SandboxRecord& record, bool look) const;
  // The files that a process entering the container writes its id into: see
  // qos::Registry::EntryFiles.
  std::vector<std::string> EntryFiles(const ContainerRecord& record) const;

 private:
  // The registry's view of the assignments: the registry keeps Targets longer than this object
  // lives.
  class Presence {
   public:
    explicit Presence(const ClassAssignments* present) : present_(present) {}
    // Runs `ask` with the assignments; does nothing after End.
    void With(absl::FunctionRef<void(const ClassAssignments&)> ask) {
      absl::ReaderMutexLock lock(&mutex_);
      if (present_ != nullptr) ask(*present_);
    }
    // Ends the view. Returns when no With is running.
    void End() {
      absl::MutexLock lock(&mutex_);
      present_ = nullptr;
    }

   private:
    absl::Mutex mutex_;
    const ClassAssignments* present_ ABSL_GUARDED_BY(mutex_);
  };
  using Places = std::multiset<std::pair<std::string, std::string>>;  // classes by type and name

  qos::Target TargetOf(const ContainerRecord& record) const;
  qos::Target TargetOf(const SandboxRecord& record) const;
  absl::Status Adopt(const qos::Target& target, qos::HeldClasses* held, bool* changed) const;
  // Parts of Reserve: free the places that the record takes over.
  void ReleaseEarlierAttempts(const ContainerRecord& later) const;
  void ReleaseRemains(const SandboxRecord& pod) const;
  // Releases the classes of a container that was never started, unless another call works on it.
  void ReleaseUnstarted(Container& container) const;
  // The full ones among the classes that a container with `asked` would be in.
  Places FullClasses(const qos::ClassNames& asked) const;
  // Waits until no place in any of these classes is being released.
  void AwaitReleases(const Places& places);
  absl::Status Save(Container& container, const qos::HeldClasses& held) const;
  absl::Status Save(Sandbox& sandbox, const qos::HeldClasses& held) const;
  absl::Status Save(const qos::Target& target, const qos::HeldClasses& held) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  const NodeConfinement* const confinement_;
  const std::shared_ptr<Presence> presence_;
  mutable absl::Mutex mutex_;
  Places releases_ ABSL_GUARDED_BY(mutex_);  // announced, not finished
  // Last, so that its threads end before what they use.
  WorkerPool releasers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_CLASS_ASSIGNMENTS_H_
