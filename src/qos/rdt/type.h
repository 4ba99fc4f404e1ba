// The class type behind rdt.h.
#ifndef PLIMSOLL_QOS_RDT_TYPE_H_
#define PLIMSOLL_QOS_RDT_TYPE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "linux/resctrl.h"
#include "qos/rdt/groups.h"
#include "qos/rdt/monitors.h"
#include "qos/rdt/mover.h"
#include "qos/rdt/ownership.h"
#include "qos/rdt/rdt.h"
#include "qos/rdt/rechecks.h"

namespace plimsoll::qos {

class RdtType : public ClassType {
 public:
  // See MakeRdtType.
  static absl::StatusOr<std::unique_ptr<RdtType>> Create(const RdtOptions& options,
                                                         const RdtEnvironment& environment);

  std::string name() const override { return kRdt; }
  Level level() const override { return Level::kContainer; }
  std::string default_class() const override { return options_.default_class; }
  std::vector<ClassInfo> classes() const override;
  std::vector<std::string> warnings() const override;
  absl::Status CheckSource(absl::string_view class_name, ClassSource source) const override;
  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override;
  absl::Status Adopt(const Target& target, absl::string_view class_name,
                     const std::vector<std::string>& files) override;
  absl::Status Release(const Target& target, absl::string_view class_name) override;
  absl::StatusOr<std::string> Drift(const Target& target,
                                    absl::string_view class_name) const override;
  std::string EntryFile(const Target& target, absl::string_view class_name) const override;
  absl::StatusOr<std::unique_ptr<PendingReload>> PrepareReload() override;
  std::map<std::string, uint64_t> Measure(absl::string_view id,
                                          absl::string_view class_name) const override;

  // For the reload: the classes in force, and their replacement. Holders of a class whose group
  // somebody removed are moved into the new one.
  std::shared_ptr<const RdtClasses> Current() const;
  absl::Status PutInForce(RdtClasses classes, const Holders& holders);
  // See RdtGroups::Difference.
  std::string Difference(const RdtClassGroup& group) const { return groups_.Difference(group); }

 private:
  // A container that holds a class, or is about to.
  struct Container {
    absl::Mutex mutex;  // held while threads are moved
    Target target ABSL_GUARDED_BY(mutex);
    std::string class_name ABSL_GUARDED_BY(mutex);  // empty: none yet
    bool gone ABSL_GUARDED_BY(mutex) = false;
  };

  RdtType(RdtOptions options, const RdtEnvironment& environment,
          std::unique_ptr<linux::Resctrl> resctrl, linux::ResctrlInfo machine, std::string boot_id);

  absl::StatusOr<RdtConfig> ReadConfig() const;
  absl::Status CheckNames(const RdtClasses& classes) const;
  // Classes whose group doesn't exist.
  std::set<std::string> MissingIn(const RdtClasses& classes) const;
  absl::Status RemoveDeadMonitors();
  absl::StatusOr<RdtClassGroup> Need(absl::string_view class_name) const;
  std::shared_ptr<Container> ContainerOf(const std::string& id);
  void Forget(const std::string& id, Container& container)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.mutex);
  // Moves the container into the place; `back` is where it was.
  absl::Status MoveTo(const Target& target, RdtPlace& place, RdtPlace& back, bool first);
  // Moves a container back into a class whose group was made again.
  absl::Status Return(const Target& target, const std::string& class_name);
  void Recheck(const std::string& id, RdtRechecks::Kind kind);
  std::string GroupOfThread(pid_t thread) const;

  const RdtOptions options_;
  const RdtEnvironment environment_;
  const std::unique_ptr<linux::Resctrl> resctrl_;
  RdtOwnership ownership_;
  RdtMonitors monitors_;
  RdtGroups groups_;
  RdtMover mover_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const RdtClasses> classes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Container>> containers_ ABSL_GUARDED_BY(mutex_);
  // Classes whose groups this start had to make: their earlier holders are outside.
  std::set<std::string> made_at_start_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<RdtRechecks> rechecks_;  // last: its thread uses all members above
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_TYPE_H_
