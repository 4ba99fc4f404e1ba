#include "agent/groups/parent_groups.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

using linux::CgroupSettings;
using resources::QosClass;

absl::Status WriteChanges(linux::CgroupManager& cgroups, const std::string& group,
                          const CgroupSettings& wanted) {
  PLIMSOLL_ASSIGN_OR_RETURN(const CgroupSettings now, cgroups.Read(group));
  const CgroupSettings changes = Changes(now, wanted);
  // The driver systemd calls systemd for every write.
  return changes == CgroupSettings() ? absl::OkStatus() : cgroups.Apply(group, changes);
}

std::vector<std::string> ParentGroups::All() const {
  return {names_.Kubepods(), names_.Qos(QosClass::kBurstable), names_.Qos(QosClass::kBestEffort)};
}

CgroupSettings ParentGroups::KubepodsLimits() const {
  CgroupSettings limits;
  limits.cpu_shares = resources::MilliCpuToShares(allocatable_.cpu_milli);
  limits.memory_limit_bytes = allocatable_.memory_bytes > 0 ? allocatable_.memory_bytes : -1;
  limits.pids_limit = allocatable_.pids > 0 ? allocatable_.pids : -1;
  limits.hugetlb_limits = allocatable_.hugepages;
  return Fit(std::move(limits), machine_);
}

absl::StatusOr<std::vector<std::string>> ParentGroups::Missing() const {
  std::vector<std::string> missing;
  for (const std::string& group : All()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, cgroups_.Exists(group));
    if (!exists) missing.push_back(group);
  }
  return missing;
}

absl::Status ParentGroups::SaveMade(std::set<std::string> made) {
  if (made == made_) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(save_(made));
  made_ = std::move(made);
  return absl::OkStatus();
}

absl::Status ParentGroups::Ensure() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> missing, Missing());
  if (ready_ && missing.empty()) return absl::OkStatus();
  std::set<std::string> made = made_;
  made.insert(missing.begin(), missing.end());
  PLIMSOLL_RETURN_IF_ERROR(SaveMade(std::move(made)));
  const absl::Status filled = Fill(missing);
  if (!filled.ok()) return Undo(filled, missing);
  ready_ = true;
  return absl::OkStatus();
}

// Limits each group before the next is made: systemd takes a controller away from a slice that it
// knows no value of.
absl::Status ParentGroups::Fill(const std::vector<std::string>& missing) {
  for (const std::string& group : All()) {
    // Also completes a group that only some hierarchies have.
    PLIMSOLL_RETURN_IF_ERROR(cgroups_.Create(group).status());
    if (!ready_ && !made_.contains(group)) {
      note_(absl::StrCat("cgroup ", group,
                         " was there already: it is used, with limits for this agent's pods, and "
                         "never removed"));
    }
    PLIMSOLL_RETURN_IF_ERROR(Limit(group, absl::c_linear_search(missing, group)));
  }
  return absl::OkStatus();
}

absl::Status ParentGroups::Limit(const std::string& group, bool is_new) {
  if (group != names_.Kubepods()) {
    // The class Burstable gets its shares by SetBurstable, and has them already if it was there.
    if (!is_new && group == names_.Qos(QosClass::kBurstable)) return absl::OkStatus();
    CgroupSettings least;
    least.cpu_shares = resources::kMinShares;
    return WriteChanges(cgroups_, group, Fit(least, machine_));
  }
  const absl::Status limited = WriteChanges(cgroups_, group, KubepodsLimits());
  if (limited.ok() || is_new) return limited;
  note_(absl::StrCat("the limits of all pods are not enforced yet: ", limited.message()));
  return absl::OkStatus();
}

absl::Status ParentGroups::Undo(const absl::Status& why, const std::vector<std::string>& missing) {
  absl::Status result = why;
  std::set<std::string> made = made_;
  for (auto group = missing.rbegin(); group != missing.rend(); ++group) {
    const absl::Status removed = cgroups_.RemoveIfUnused(*group);
    result = AlsoNotSetBack(result, removed);
    if (removed.ok()) made.erase(*group);
  }
  return AlsoNotSetBack(result, SaveMade(std::move(made)));
}

absl::Status ParentGroups::SetAllocatable(Allocatable allocatable) {
  allocatable_ = std::move(allocatable);
  if (!ready_) return absl::OkStatus();
  const CgroupSettings limits = KubepodsLimits();
  CgroupSettings shares;
  shares.cpu_shares = limits.cpu_shares;
  // Pods that use more memory than they may have now keep their CPU time in step all the same.
  PLIMSOLL_RETURN_IF_ERROR(WriteChanges(cgroups_, names_.Kubepods(), shares));
  return WriteChanges(cgroups_, names_.Kubepods(), limits);
}

absl::Status ParentGroups::SetBurstable(int64_t cpu_request_milli) {
  const std::string group = names_.Qos(QosClass::kBurstable);
  CgroupSettings shares;
  shares.cpu_shares = resources::MilliCpuToShares(cpu_request_milli);
  const absl::Status written = WriteChanges(cgroups_, group, Fit(shares, machine_));
  return absl::IsNotFound(written) ? absl::OkStatus() : written;
}

absl::Status ParentGroups::RemoveUnused() {
  absl::Status result;
  std::set<std::string> made = made_;
  const std::vector<std::string> all = All();
  for (auto group = all.rbegin(); group != all.rend(); ++group) {
    if (!made_.contains(*group)) continue;
    ready_ = false;
    result = FirstError(result, cgroups_.RemoveIfUnused(*group));
    if (!cgroups_.Exists(*group).value_or(true)) made.erase(*group);
  }
  return FirstError(result, SaveMade(std::move(made)));
}

}  // namespace plimsoll::agent
