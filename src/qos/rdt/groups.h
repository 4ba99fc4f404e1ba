// The control groups of the rdt classes: planned without touching the kernel, then applied.
#ifndef PLIMSOLL_QOS_RDT_GROUPS_H_
#define PLIMSOLL_QOS_RDT_GROUPS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/resctrl.h"
#include "linux/resctrl_info.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/config.h"
#include "qos/rdt/ownership.h"

namespace plimsoll::qos {

// A class's group in the kernel.
struct RdtClassGroup {
  std::string path;          // of the control group; "" is the root's
  bool foreign = false;      // adopted, or the root's without a definition: never written
  linux::Schemata schemata;  // its target
  bool deny_pod_annotation = false;
  bool deny_container_annotation = false;
  std::string meaning;
  std::shared_ptr<const linux::Resctrl::TasksFile> tasks;  // set once it is in force
};

// The classes of one definition; not changed once it is in force.
struct RdtClasses {
  std::map<std::string, RdtClassGroup> by_name;
  std::vector<std::string> warnings;

  const RdtClassGroup* Find(absl::string_view name) const;
};

class RdtGroups {
 public:
  struct Naming {
    std::string prefix;
    bool adopt = false;
  };

  // Both pointers must outlive it.
  RdtGroups(const linux::Resctrl* resctrl, RdtOwnership* ownership, linux::ResctrlInfo machine,
            Naming naming)
      : resctrl_(*resctrl),
        ownership_(*ownership),
        machine_(std::move(machine)),
        naming_(std::move(naming)) {}

  // The classes of `config`, after every check that needs no write. Errors of CompileRdt;
  // ALREADY_EXISTS for a group of somebody else. Changes nothing.
  absl::StatusOr<RdtClasses> Plan(const RdtConfig& config) const;

  // Makes the groups of `classes` and writes the values that they lack; then removes our groups
  // that are no class's and have no threads (a failed removal is a warning). On error everything is
  // as before, or the error says what isn't; a group may have been removed for its CLOSID and made
  // again, so open files of groups must be opened again (Reopen). One call at a time.
  absl::Status Apply(RdtClasses& classes);
  // The difference between the kernel's group and what Apply would make of it ("resctrl group
  // /gold: L3 of cache 0 is 0xff, should be 0xf"); empty: none, or it isn't ours to write. Changes
  // nothing.
  std::string Difference(const RdtClassGroup& group) const;
  // Opens the `tasks` of every group that exists.
  void Reopen(RdtClasses& classes) const;

 private:
  class Change;  // the steps done so far

  absl::Status MakeAndWriteAll(RdtClasses& classes, Change& change);
  absl::Status MakeAndWrite(const RdtClasses& classes, const RdtClassGroup& group, Change& change);
  absl::Status MakeGroup(const RdtClasses& classes, const std::string& path, Change& change);
  // Our groups that are no class's, without monitoring groups.
  std::vector<std::string> Unwanted(const RdtClasses& classes) const;
  // False: no group could be removed.
  absl::StatusOr<bool> RemoveOneUnwanted(const RdtClasses& classes, Change& change);
  void RemoveUnwanted(RdtClasses& classes);

  linux::Schemata Defaults() const;
  // All values that an existing group of ours must have.
  linux::Schemata GoalOf(const RdtClassGroup& group) const;
  absl::Status AddConfigured(const RdtCompiledClass& compiled, RdtClasses& classes) const;
  absl::Status AddForeign(const std::vector<std::string>& groups, RdtClasses& classes) const;

  const linux::Resctrl& resctrl_;
  RdtOwnership& ownership_;
  const linux::ResctrlInfo machine_;
  const Naming naming_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_GROUPS_H_
