// The groups above pods' groups: kubepods with the node's allocatable amounts, and the groups of
// the QoS classes Burstable and BestEffort.
#ifndef PLIMSOLL_AGENT_GROUPS_PARENT_GROUPS_H_
#define PLIMSOLL_AGENT_GROUPS_PARENT_GROUPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/groups/group_names.h"
#include "agent/groups/limits.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {

// The node's amounts for all pods together.
struct Allocatable {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;                   // 0: no limit
  int64_t pids = 0;                           // 0: no limit
  std::map<std::string, uint64_t> hugepages;  // "2MB" -> bytes; a size not named has no limit
  bool operator==(const Allocatable&) const = default;
};

// Not thread-safe. Of groups that others made it takes these three as its own, and says so.
class ParentGroups {
 public:
  // Called with a sentence for a group that is taken over or a limit that isn't enforced. Must not
  // call this object.
  using Note = std::function<void(const std::string&)>;
  // Stores the paths of the groups that this object has made, before they are made.
  using Save = std::function<absl::Status(const std::set<std::string>& made)>;

  // `cgroups` must outlive this object. `made`: the paths that an earlier process has saved.
  ParentGroups(linux::CgroupManager* cgroups, GroupNames names, GroupMachine machine,
               Allocatable allocatable, std::set<std::string> made, Note note, Save save)
      : cgroups_(*cgroups),
        names_(std::move(names)),
        machine_(std::move(machine)),
        note_(std::move(note)),
        save_(std::move(save)),
        allocatable_(std::move(allocatable)),
        made_(std::move(made)) {}

  const std::set<std::string>& made() const { return made_; }

  // Makes the groups that are missing and gives them their limits; after an error they are gone
  // again. The first call also sets the limits of groups that are there. If the kernel refuses
  // kubepods' there, since pods already use more, a note says so: SetAllocatable tries again.
  absl::Status Ensure();
  // Writes kubepods' limits, if Ensure has run. After an error the kernel keeps its values, except
  // that the shares are in force; the caller tries again, as kubelet does every minute. A kubepods
  // made later gets these limits.
  absl::Status SetAllocatable(Allocatable allocatable);
  // Shares of the Burstable class, from the sum of its pods' requests. OK without the group.
  absl::Status SetBurstable(int64_t cpu_request_milli);
  // Removes those that this agent has made and that are empty. A later Ensure makes them again.
  absl::Status RemoveUnused();

 private:
  // Outermost first.
  std::vector<std::string> All() const;
  linux::CgroupSettings KubepodsLimits() const;
  absl::StatusOr<std::vector<std::string>> Missing() const;
  absl::Status SaveMade(std::set<std::string> made);
  absl::Status Fill(const std::vector<std::string>& missing);
  absl::Status Limit(const std::string& group, bool is_new);
  absl::Status Undo(const absl::Status& why, const std::vector<std::string>& missing);

  linux::CgroupManager& cgroups_;
  const GroupNames names_;
  const GroupMachine machine_;
  const Note note_;
  const Save save_;
  Allocatable allocatable_;
  std::set<std::string> made_;
  bool ready_ = false;
};

// Writes those of `wanted` that aren't in force. All or nothing.
absl::Status WriteChanges(linux::CgroupManager& cgroups, const std::string& group,
                          const linux::CgroupSettings& wanted);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_PARENT_GROUPS_H_
