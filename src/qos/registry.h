// All class types of the node, and the pods and containers that hold their classes.
//
// The life of a holder (a pod or container):
//
//   registry.Reserve(level, id, name, asked)  -> what it will hold; counted
//   registry.Enforce(target)                  the kernel does it: before the first instruction
//   registry.Change(target, asked, save)      any number of times
//   registry.Release(target)                  when its last process has ended
//
// After a restart of the daemon, Adopt replaces the first two. A request that names several types
// is done whole or not at all.
#ifndef PLIMSOLL_QOS_REGISTRY_H_
#define PLIMSOLL_QOS_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/change_bell.h"
#include "qos/class_type.h"
#include "qos/classes.h"

namespace plimsoll::qos {

// The id and name of a Target.
struct TargetName {
  std::string id;
  std::string name;
};

struct ClassUse {
  ClassInfo info;
  std::vector<TargetName> holders;  // sorted by name
};

struct TypeReport {
  std::string name;
  Level level = Level::kContainer;
  bool immutable = false;
  std::string default_class;
  std::vector<ClassUse> classes;
  std::vector<std::string> warnings;
  bool is_informative = false;  // see ClassType
};

// A type that is configured but unavailable here: nobody can name it, and messages say why.
struct UnavailableType {
  Level level = Level::kContainer;
  std::string name;
  std::string reason;
};

// A class as status shows it.
struct EffectiveClass {
  std::string name;
  bool implicit = false;
  std::string drift;  // the kernel's difference, or why it is unknown; empty: none
};

// Thread-safe. Calls about one holder must not overlap (the engine's lock on it ensures that);
// calls about different ones run side by side, Reload alone.
//
// Order of locks, from the one taken first: reloading_, definitions(), a caller's lock on one
// holder, reload_, mutex_, a type's own, the records' lock, which a Target's functions and `save`
// take. So a caller of the registry must not hold the last.
class Registry {
 public:
  // INVALID_ARGUMENT for two types of one name and level, or that set the same file at one level.
  static absl::StatusOr<std::unique_ptr<Registry>> Create(
      std::vector<std::unique_ptr<ClassType>> types, std::vector<UnavailableType> unavailable = {});

  // Counts the holder in: the classes asked for, and the default of every other type that has one.
  // NOT_FOUND for a type or class that there isn't, with those there are; RESOURCE_EXHAUSTED when a
  // class is full. `target_name` is for messages ("container web").
  absl::StatusOr<HeldClasses> Reserve(Level level, const std::string& id,
                                      const std::string& target_name, const ClassNames& asked);
  // Undoes a Reserve that was never enforced.
  void Cancel(const std::string& id);
  // Reserve for recorded holders: nothing is refused. A change cut off by the daemon's death is put
  // back, in `held` too, and the class's present meaning is applied. The error names changes
  // that could not be put back: they stay in `held` for the next start to retry. It also names
  // classes and types that no longer exist: they stay held, but nobody can ask for them.
  absl::Status Adopt(const Target& target, HeldClasses* held);

  // Puts a holder into its classes. On error it is in none and still reserved.
  absl::Status Enforce(const Target& target);
  // Puts it into other classes; types not named stay. All is checked first: NOT_FOUND as above,
  // FAILED_PRECONDITION for an immutable type, RESOURCE_EXHAUSTED; none of them for the class that
  // is held already. The new place is taken before the old one is given up. `save` is called with
  // the planned state before the kernel is asked and again with the result. When it or the kernel
  // fails, the holder is as before, and `save` is called with that state too.
  absl::Status Change(const Target& target, const ClassNames& asked,
                      const std::function<absl::Status(const HeldClasses&)>& save);
  // The error with which Change would refuse before asking the kernel.
  absl::Status CheckChange(const Target& target, const ClassNames& asked);
  // Gives up all classes of a holder; their capacity too when the kernel fails. OK when it holds
  // none.
  absl::Status Release(const Target& target);

  // Classes of a holder; with `look`, also whether the kernel agrees. Empty for no holder.
  std::map<std::string, EffectiveClass> Effective(const Target& target, bool look) const;
  // Guards the meaning of classes: Reload holds it exclusively. Hold it shared from a look at
  // OwnedFiles until all that follows from it is written: else a new definition could make a file
  // the class's in between. Take it before any lock on the holder that is held in other calls.
  absl::Mutex& definitions() const ABSL_LOCK_RETURNED(definitions_) { return definitions_; }
  // Files set by the classes of a holder: they are not its client's (see ClassType::OwnedFiles).
  std::vector<std::string> OwnedFiles(const std::string& id) const;
  // See ClassType::EntryFile.
  std::vector<std::string> EntryFiles(const Target& target) const;

  // `look`: with warnings, for which types read the machine. Then types that are unavailable, or
  // held from before the start but no longer configured, are listed too, without classes.
  std::vector<TypeReport> Describe(bool look = false) const;
  // Whether the configuration permits that source: see ClassType::CheckSource.
  absl::Status CheckSource(Level level, const std::string& type, const std::string& class_name,
                           ClassSource source);
  // Counts `status`, the configuration's refusal to take any class of the type from that
  // annotation, and returns it.
  absl::Status RefuseAnnotation(Level level, const std::string& type, absl::Status status);
  bool Has(Level level, const std::string& type) const;
  // The error with which Reserve would refuse a type or class that there isn't. `target_name` is
  // for messages.
  absl::Status CheckKnown(Level level, const std::string& target_name, const std::string& type,
                          const std::string& class_name);
  // Types that are configured but unavailable here, with the reasons.
  const std::vector<UnavailableType>& unavailable() const { return unavailable_; }

  // Reads all class files again: every one is read and compared before any is applied. A class
  // that somebody holds must still exist: FAILED_PRECONDITION names the holders. Returns the
  // changes, and the kernel's differences that were repaired; on error nothing has changed.
  absl::StatusOr<std::vector<std::string>> Reload();
  // A function that each Reload calls with names and warnings of the types that it has read, once
  // all are read and before anything is written. Set once, before the first reload.
  using WarnFn = std::function<void(const std::vector<TypeReport>& types)>;
  void WarnWith(WarnFn warn);
  // A function called, under the registry's locks, when a reload has changed the set of files of a
  // holder's classes: they are on its record, for a start that knows another definition. Set once,
  // before the first reload.
  void SaveWith(std::function<absl::Status(const Target&, const HeldClasses&)> save);

  // Rings when holders or the meaning of classes have changed, under locks of this.
  ChangeBell& changed() const { return changed_; }

  // Devices have come, gone or changed: see ClassType::Refresh. Every type is asked; the first
  // error is returned.
  absl::Status Refresh();
  // Holders enforced or adopted, as last told, sorted by id.
  std::vector<Target> Targets() const;

  // Number of refused requests, by type ("" for an unknown one) and reason: "unknown_type",
  // "unknown_class", "annotation", "immutable", "capacity", "kernel".
  std::map<std::pair<std::string, std::string>, uint64_t> Refusals() const;

  // A measured value of a type: (holder's id, or empty for a whole class; class; metric; value).
  struct Measurement {
    std::string type;
    std::string id;
    std::string class_name;
    std::string metric;
    uint64_t value = 0;
  };
  std::vector<Measurement> Measure() const;

 private:
  // A target with all its classes.
  struct Entry {
    Level level = Level::kContainer;
    std::string name;  // as Target has it
    HeldClasses held;
    Target target;  // its id is empty until the holder is enforced or adopted
  };
  using Key = std::pair<const ClassType*, std::string>;  // type and class
  struct Step {
    ClassType* type = nullptr;
    std::string from;  // empty: none
    std::string to;
  };

  Registry(std::vector<std::unique_ptr<ClassType>> types, std::vector<UnavailableType> unavailable)
      : types_(std::move(types)), unavailable_(std::move(unavailable)) {}

  ClassType* Find(Level level, const std::string& name) const;
  const UnavailableType* FindUnavailable(Level level, const std::string& name) const;
  absl::StatusOr<ClassType*> Need(Level level, const std::string& target_name,
                                  const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The class that `asked` names ("" is the default), with its capacity.
  absl::StatusOr<ClassInfo> NeedClass(const ClassType& type, const std::string& target_name,
                                      const std::string& asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The reason why a held class can't be asked for any more; empty: it can.
  std::string WhyGone(Level level, const std::string& type, const std::string& class_name) const;
  absl::Status AdoptOne(const Target& target, const std::string& type_name, HeldClass* one);
  static HeldClass Named(const Step& step);
  void AddGone(std::vector<TypeReport>* reports) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<TargetName> NamesOfHolders(Level level, const std::string& type,
                                         const std::string& class_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refuse(const std::string& type, const char* reason, absl::Status status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // RESOURCE_EXHAUSTED unless the class has room for one more.
  absl::Status CheckCapacity(const ClassType& type, const ClassInfo& info,
                             const std::string& target_name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Steps of a Change; reserves the new places.
  absl::StatusOr<std::vector<Step>> PlanChange(const Target& target, const ClassNames& asked);
  void GiveUp(const Target& target, const std::vector<Step>& steps, bool new_places);
  // Takes all steps or none.
  absl::Status Take(const Target& target, const std::vector<Step>& steps);
  // Undoes the first `done` steps, backwards. Returns `status` with the errors of that.
  static absl::Status Undo(const Target& target, const std::vector<Step>& steps, size_t done,
                           absl::Status status);
  // FAILED_PRECONDITION when somebody holds a class of the type that is not among the names.
  absl::Status CheckHolders(const ClassType& type, const std::vector<std::string>& names) const;
  // Records which files the classes set now.
  void SaveFiles();
  Holders HoldersOf(const ClassType& type) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::unique_ptr<ClassType>> types_;
  const std::vector<UnavailableType> unavailable_;
  absl::Mutex reloading_;  // one Reload at a time
  std::function<absl::Status(const Target&, const HeldClasses&)> save_;
  WarnFn warn_;
  mutable ChangeBell changed_;
  mutable absl::Mutex definitions_;
  // Held shared by calls that ask the kernel, exclusively by Reload.
  mutable absl::Mutex reload_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by id
  std::map<Key, uint64_t> used_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, uint64_t> refusals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_REGISTRY_H_
