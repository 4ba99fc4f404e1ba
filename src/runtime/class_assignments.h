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
#ifndef PLIMSOLL_RUNTIME_CLASS_ASSIGNMENTS_H_
#define PLIMSOLL_RUNTIME_CLASS_ASSIGNMENTS_H_

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
#include "runtime/engine_options.h"
#include "runtime/node_confinement.h"
#include "runtime/objects.h"

namespace plimsoll::runtime {

// Where the options have no classes every call does nothing, and to ask for one is NOT_FOUND.
//
// Uses `classes`, `assign_classes`, `runtime`, `store`, `events` and `run` of the options, Objects,
// and NodeConfinement for the cpuset that is written when a class goes. The arguments must outlive
// it; the class registry may outlive it, and asks it nothing any more then.
//
// Thread-safe; calls about one holder follow each other, as the registry wants it. Its two locks
// are held for moments: Presence's stands after the registry's, which ask what is on record under
// their own, and before PodGroups'; that of the releases stands last. Change and releases take
// Container::classes before the registry's.
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

  // Has the registry put on record what a reload changes. Once, before the first reload.
  void SaveReloads();

  // Takes places in the classes that the record's spec asks for, and fills its `classes`. Errors
  // are the registry's. A container waits, some seconds at most, for places that are being given
  // back: one that has just exited may be its predecessor.
  absl::Status Reserve(SandboxRecord* record) const;
  absl::Status Reserve(ContainerRecord* record);
  // Gives back what was reserved and never enforced.
  void Cancel(const std::string& id) const;
  absl::Status Enforce(const SandboxRecord& record) const;
  absl::Status Enforce(const ContainerRecord& record) const;
  // Gives up all that it holds. What the kernel refuses is told as a warning; the places are free
  // in any case.
  void Release(const SandboxRecord& record) const;
  void Release(const ContainerRecord& record) const;

  // Says that the places will soon be free, as long as the result lives; Reserve waits for that.
  std::shared_ptr<void> AnnounceRelease(const qos::HeldClasses& held);
  // Releases the classes of a container that is recorded as exited, in another thread, since that
  // waits for a change under way. `announced` ends with it. Nothing is done of one that is not
  // recorded as exited: who failed to make it undoes that.
  void ReleaseAtExit(const std::shared_ptr<Container>& container,
                     const std::shared_ptr<void>& announced);

  // After a restart: ends what was being changed and puts in force what the classes mean now.
  // `changed`: the record's `classes` are others, to be saved. On error, too, the registry knows
  // the holder; what could not be put back stays on record as it was.
  absl::Status Adopt(SandboxRecord* record, bool* changed) const;
  absl::Status Adopt(ContainerRecord* record, bool* changed) const;
  // Before Adopt: where the container's row says what a cut-off update was to change, Adopt puts
  // that in force. `changed` as above.
  absl::Status FinishChange(ContainerRecord* record, bool* changed) const;

  // What Change would refuse without asking the kernel.
  absl::Status CheckChange(const ContainerRecord& record, const qos::ClassNames& asked) const;
  // Of the types in `asked`, what is on record while they are changed from what is held.
  qos::HeldClasses ChangingTo(const qos::HeldClasses& held, const qos::ClassNames& asked) const;
  // See qos::Registry::Change. FAILED_PRECONDITION of a container that has just ended, and of a
  // sandbox that is not Ready.
  absl::Status Change(Container& container, const qos::ClassNames& asked) const;
  absl::Status Change(Sandbox& sandbox, const qos::ClassNames& asked) const;

  // The effective class of every type; of what has ended, those on record. `look`: ask the kernel
  // whether it agrees, too.
  using Effective = std::map<std::string, qos::EffectiveClass>;
  Effective EffectiveOf(const ContainerRecord& record, bool look) const;
  Effective EffectiveOf(const SandboxRecord& record, bool look) const;
  // What a process that enters the container writes itself into: see qos::Registry::EntryFiles.
  std::vector<std::string> EntryFiles(const ContainerRecord& record) const;

 private:
  // The assignments as the registry sees them, which keeps Targets for longer than there are any.
  class Presence {
   public:
    explicit Presence(const ClassAssignments* present) : present_(present) {}
    // Runs `ask` with the assignments, or not at all.
    void With(absl::FunctionRef<void(const ClassAssignments&)> ask) {
      absl::ReaderMutexLock lock(&mutex_);
      if (present_ != nullptr) ask(*present_);
    }
    // Returns when nobody asks any more.
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
  // Of the containers' classes that one with `asked` would be in, those that are full.
  Places FullClasses(const qos::ClassNames& asked) const;
  // Waits until no place in any of these is being given back.
  void AwaitReleases(const Places& places);
  absl::Status Save(Container& container, const qos::HeldClasses& held) const;
  absl::Status Save(Sandbox& sandbox, const qos::HeldClasses& held) const;
  absl::Status Save(const qos::Target& target, const qos::HeldClasses& held) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  const NodeConfinement* const confinement_;
  const std::shared_ptr<Presence> presence_;
  absl::Mutex mutex_;
  Places releases_ ABSL_GUARDED_BY(mutex_);  // that are announced and not done
  // Last, so that its threads end before what they use.
  WorkerPool releasers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CLASS_ASSIGNMENTS_H_
