// Classes of block I/O: throttles and weights by disk, in the group of a container or, on cgroup
// v2, of a pod.
//
// On cgroup v1 a parent's throttles don't bound its children. A pod's group would limit nothing
// there, so the type is offered for containers only.
#ifndef PLIMSOLL_QOS_BLOCKIO_H_
#define PLIMSOLL_QOS_BLOCKIO_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/blockio_config.h"
#include "qos/blockio_plan.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

struct BlockioOptions {
  Level level = Level::kContainer;
  std::string config_file;
  std::string default_class;                 // empty: none
  std::map<std::string, uint64_t> capacity;  // by class; 0 or absent: any number
};

class BlockioType : public ClassType {
 public:
  // Reads the file. INVALID_ARGUMENT when it is wrong, or when default or capacity name a class
  // that it lacks; NOT_FOUND without file. `host` holds sys/ and dev/; `cgroups` must outlive the
  // type.
  static absl::StatusOr<std::unique_ptr<BlockioType>> Create(const FsRoot& host,
                                                             linux::CgroupManager* cgroups,
                                                             BlockioOptions options);

  // The reason why this machine can't have the type, which then has no classes and whose Assign is
  // FAILED_PRECONDITION. Empty when it can.
  std::string unavailable() const;

  std::string name() const override { return kBlockio; }
  Level level() const override { return options_.level; }
  std::string default_class() const override;
  std::vector<ClassInfo> classes() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> OwnedFiles(absl::string_view class_name) const override;

  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override;
  absl::Status Adopt(const Target& target, absl::string_view class_name,
                     const std::vector<std::string>& files) override;
  absl::Status Release(const Target& target, absl::string_view class_name) override;
  absl::StatusOr<std::string> Drift(const Target& target,
                                    absl::string_view class_name) const override;
  absl::StatusOr<std::unique_ptr<PendingReload>> PrepareReload() override;

  // Reads disks and their schedulers again and writes the lines that holders' files lack. A disk
  // that went and came back under its number is one case: the kernel forgot its limits. Call it
  // when a disk or a link to one has come or gone. Every holder is tried; the first error is
  // returned.
  absl::Status Refresh(const Holders& holders) override;

 private:
  class Reload;
  // One reading of the file, compiled for the machine as it was then.
  struct State {
    BlockioConfig config;
    BlockioMachine machine;
    std::map<std::string, BlockioPlan> plans;  // by class
  };
  using StatePtr = std::shared_ptr<const State>;

  BlockioType(FsRoot host, linux::CgroupManager* cgroups, BlockioOptions options);
  absl::StatusOr<BlockioMachine> LookAtMachine() const;
  static StatePtr Compile(BlockioConfig config, BlockioMachine machine);
  std::vector<std::string> WarningsOf(const BlockioConfig& config,
                                      const BlockioMachine& machine) const;
  absl::StatusOr<StatePtr> LoadState() const;
  StatePtr state() const;

  // Contents of the group's files after a target moves from one class to another; an empty name is
  // no class. Files that neither class sets are left out.
  std::vector<FileContent> Wanted(const Target& target, const State& before, absl::string_view from,
                                  const State& after, absl::string_view to) const;
  absl::Status Move(const Target& target, const State& before, absl::string_view from,
                    const State& after, absl::string_view to);
  // Moves all holders from one reading of the file to the other or, after an error, none.
  absl::Status Replace(const StatePtr& before, const StatePtr& after, const Holders& holders);

  const FsRoot host_;
  linux::CgroupManager* const cgroups_;
  const BlockioOptions options_;
  // Held shared while a target is written to, exclusively while the definitions change.
  absl::Mutex definitions_;
  mutable absl::Mutex mutex_;
  StatePtr state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_BLOCKIO_H_
