// The control groups of an agent's pods, as kubelet's container manager makes them: kubepods, the
// QoS classes' groups, and a group for each pod with the limits of the pod as a whole.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto groups, PodGroups::Open(host, state, options));
//   PLIMSOLL_RETURN_IF_ERROR(groups->Sweep(uids_of_living_pods));
//   PLIMSOLL_RETURN_IF_ERROR(groups->Ensure(uid, amounts));
//   config.mutable_linux()->set_cgroup_parent(groups->CgroupParent(uid, amounts.qos));
//   ...
//   PLIMSOLL_RETURN_IF_ERROR(groups->Remove(uid));
//
// A runtime that is given a cgroup_parent that exists puts containers into it, and leaves its
// limits to its maker.
#ifndef PLIMSOLL_AGENT_GROUPS_POD_GROUPS_H_
#define PLIMSOLL_AGENT_GROUPS_POD_GROUPS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/groups/group_names.h"
#include "agent/groups/group_records.h"
#include "agent/groups/limits.h"
#include "agent/groups/parent_groups.h"
#include "agent/groups/pod_amounts.h"
#include "agent/groups/reserved_groups.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {

struct GroupOptions {
  CgroupDriver driver = CgroupDriver::kCgroupfs;  // the runtime's (RuntimeConfig)
  std::string root;                               // see GroupNames::Make; must exist
  Allocatable allocatable;
  int64_t pod_pids_limit = -1;  // podPidsLimit; -1: none
  // See ParentGroups::Note. Called with the lock held: it must not call PodGroups. May be null.
  std::function<void(const std::string&)> note;
};

// Thread-safe; calls for different pods run at the same time. Of one pod the caller makes one call
// at a time.
//
// Touches only groups that this agent made, which a file lists, and kubepods with its QoS groups,
// whoever made them. Errors name file and value. After one, groups and file are as before, except
// that kubepods and its QoS groups, once made, stay; and Remove can be repeated.
class PodGroups {
 public:
  // `host`: the machine's "/". `state`: a directory of the agent, which keeps groups.json there.
  // FAILED_PRECONDITION: no such root, no cgroup controller for CPU or memory, or no systemd with
  // cgroup v2 for that driver. Makes nothing.
  static absl::StatusOr<std::unique_ptr<PodGroups>> Open(const FsRoot& host, const FsRoot& state,
                                                         GroupOptions options);
  // Open with a manager of groups; for tests.
  static absl::StatusOr<std::unique_ptr<PodGroups>> OpenWith(
      std::unique_ptr<linux::CgroupManager> cgroups, const FsRoot& host, const FsRoot& state,
      GroupOptions options);

  // For PodSandboxConfig.linux.cgroup_parent. `uid` as Ensure takes it.
  std::string CgroupParent(const std::string& uid, resources::QosClass qos) const {
    return names_.CgroupParent(qos, uid);
  }
  // A sentence for each kind of limit that this machine can't enforce.
  std::vector<std::string> Lacks() const { return LimitsLost(machine_); }

  // Makes the pod's group with its limits, and the groups above. A group of this agent that has
  // processes may be between a resize's steps: limits below `amounts` are raised, limits above
  // stay. FAILED_PRECONDITION: the group has processes and isn't of this agent; or the pod has a
  // group by another driver, root or QoS class. INVALID_ARGUMENT: see CheckUid.
  absl::Status Ensure(const std::string& uid, const PodAmounts& amounts);

  // A resize: kRaise, then the containers, then kSettle. A container's limit is never above its
  // pod's, which cgroup v1 would refuse.
  enum class Step {
    kRaise,   // grants more where `amounts` has more
    kSettle,  // exactly `amounts`
  };
  // The values that the step would write; all members are absent if there is none.
  absl::StatusOr<linux::CgroupSettings> Planned(const std::string& uid, const PodAmounts& amounts,
                                                Step step) const;
  // NOT_FOUND without Ensure. INVALID_ARGUMENT for another QoS class, which a pod keeps for life.
  // FAILED_PRECONDITION: the pod uses more memory than the new limit.
  absl::Status Update(const std::string& uid, const PodAmounts& amounts, Step step);

  // Removes the pod's group and the groups below. Kills nothing: FAILED_PRECONDITION names the
  // processes in it. OK for a pod without a group of this agent.
  absl::Status Remove(const std::string& uid);
  // Removes the groups of all pods but these. Tries each, and returns the first error.
  absl::Status Sweep(const std::set<std::string>& living);

  // See ParentGroups.
  absl::Status SetAllocatable(Allocatable allocatable);
  // See LimitReservedGroup.
  absl::Status LimitReserved(const ReservedGroup& group) {
    return LimitReservedGroup(*cgroups_, machine_, group);
  }
  // Removes kubepods and its QoS groups, if this agent has made them and no pod has a group.
  absl::Status RemoveUnusedParents();

 private:
  PodGroups(std::unique_ptr<linux::CgroupManager> cgroups, FsRoot state, GroupOptions options,
            GroupNames names, GroupMachine machine, std::string boot_id, GroupRecords records);

  std::optional<GroupRecord> Find(const std::string& uid) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The record of a pod for Planned and Update.
  absl::StatusOr<GroupRecord> Need(const std::string& uid, const PodAmounts& amounts) const;
  // Saves the pod's record, or its end, and sets the shares of the class Burstable. Both or none.
  absl::Status Keep(const std::string& uid, const std::optional<GroupRecord>& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status KeepLocking(const std::string& uid, const std::optional<GroupRecord>& record);

  linux::CgroupSettings Wanted(const PodAmounts& amounts) const;
  absl::StatusOr<bool> HasProcesses(const std::string& group) const;
  // Refuses a group that the agent may not use.
  absl::Status CheckUse(const GroupRecord& wanted, const std::optional<GroupRecord>& before,
                        bool has_processes) const;
  absl::Status Fill(const std::string& group, const linux::CgroupSettings& wanted,
                    bool has_processes);
  absl::StatusOr<linux::CgroupSettings> StepChanges(const std::string& group,
                                                    const PodAmounts& amounts, Step step) const;
  absl::Status Raise(const std::string& uid, const GroupRecord& before, const PodAmounts& amounts);
  absl::Status Settle(const std::string& uid, const GroupRecord& before, const PodAmounts& amounts);

  const std::unique_ptr<linux::CgroupManager> cgroups_;
  const FsRoot state_;
  const GroupOptions options_;
  const GroupNames names_;
  const GroupMachine machine_;
  const std::string boot_id_;
  mutable absl::Mutex mutex_;
  GroupRecords records_ ABSL_GUARDED_BY(mutex_);  // `parents` is parents_.made()
  ParentGroups parents_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_POD_GROUPS_H_
