#include "runtime/cgroups/pod_groups.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/cgroup/tree.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/oci/fit.h"

namespace plimsoll::runtime {
namespace {

bool Uses(const SandboxRecord& record, const std::string& group) {
  return record.cgroup_path == group ||
         absl::StartsWith(record.cgroup_path, absl::StrCat(group, "/"));
}

}  // namespace

absl::Status PodGroups::Make(SandboxRecord* record) {
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(Plan(record));
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(*record));
  in_the_making_.push_back(record);
  return MakePlanned(record);
}

absl::Status PodGroups::Finish(const SandboxRecord* record,
                               absl::FunctionRef<absl::Status()> finish) {
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(finish());
  std::erase(in_the_making_, record);
  return absl::OkStatus();
}

void PodGroups::SetInTheMaking(SandboxRecord* record) {
  absl::MutexLock lock(&mutex_);
  in_the_making_.push_back(record);
}

void PodGroups::Forget(const SandboxRecord* record) {
  absl::MutexLock lock(&mutex_);
  std::erase(in_the_making_, record);
}

void PodGroups::Write(absl::FunctionRef<void()> write) {
  absl::MutexLock lock(&mutex_);
  write();
}

absl::Status PodGroups::Plan(SandboxRecord* record) const {
  const std::string& parent = record->spec.cgroup_parent;
  if (parent.empty()) {
    record->cgroup_path = linux::ChildCgroup(options_.default_cgroup_parent, record->id);
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(record->cgroup_path, linux::ExpandCgroupParent(parent));
  }
  for (const std::string& group : linux::GroupAndParents(record->cgroup_path)) {
    // The default parent is kept for the next pod: this pod owns only groups below it.
    if (group == "/" || group == options_.default_cgroup_parent) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, options_.cgroups->Exists(group));
    if (!exists) record->owned_cgroups.push_back(group);
  }
  const std::string keeper = KeeperOf(*record);
  if (!keeper.empty()) record->owned_cgroups.push_back(keeper);
  return absl::OkStatus();
}

absl::Status PodGroups::MakePlanned(SandboxRecord* record) {
  const std::string keeper = KeeperOf(*record);
  const bool is_whole = record->owned_cgroups.size() > (keeper.empty() ? 0u : 1u);
  std::vector<std::string> made;
  if (is_whole) {
    PLIMSOLL_ASSIGN_OR_RETURN(made, options_.cgroups->Create(record->cgroup_path));
  }
  if (!keeper.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto kept, options_.cgroups->MakeKeeper(keeper));
    made.insert(made.end(), kept.begin(), kept.end());
  }
  // Groups that somebody else has made since Plan are not ours.
  std::erase_if(record->owned_cgroups,
                [&](const std::string& group) { return !absl::c_linear_search(made, group); });
  return is_whole ? Limit(*record) : absl::OkStatus();
}

absl::Status PodGroups::Limit(const SandboxRecord& record) const {
  const linux::CgroupSettings settings = PodGroupSettings(record.spec);
  if (settings == linux::CgroupSettings()) return absl::OkStatus();
  std::vector<std::string> lost;
  linux::CgroupSettings given = FitSettings(settings, options_.runtime->machine(), &lost);
  confinement_->PutPodIntoShare(&given);
  for (const std::string& warning : lost) {
    options_.events->Add(EventType::kWarning, record.id, "", warning);
  }
  given = WithWeight(*options_.cgroups, *options_.runtime, "", std::move(given));
  return options_.cgroups->Apply(record.cgroup_path, given);
}

absl::Status PodGroups::Remove(const SandboxRecord& record) {
  absl::MutexLock lock(&mutex_);
  return RemoveLocked(record);
}

absl::Status PodGroups::RemoveAll(Sandbox& sandbox) {
  absl::MutexLock lock(&mutex_);
  // Read under the lock: a pod that was removed meanwhile may have handed a group over.
  PLIMSOLL_RETURN_IF_ERROR(RemoveLocked(sandbox.Snapshot()));
  absl::MutexLock record_lock(&sandbox.mutex);
  sandbox.record.cgroup_path.clear();
  sandbox.record.owned_cgroups.clear();
  return absl::OkStatus();
}

absl::Status PodGroups::RemoveLocked(const SandboxRecord& record) {
  absl::Status status;
  for (auto it = record.owned_cgroups.rbegin(); it != record.owned_cgroups.rend(); ++it) {
    const absl::StatusOr<bool> taken = HandOver(*it, record.id);
    status = FirstError(status, taken.status());
    if (!taken.ok() || *taken) continue;
    // A group above the pod may contain others' groups by now. The group of a pod in Creating never
    // had a container of ours: anything in it is somebody else's.
    const bool whole = *it == record.cgroup_path && record.state != SandboxState::kCreating;
    status = FirstError(
        status, whole ? options_.cgroups->Remove(*it) : options_.cgroups->RemoveIfUnused(*it));
  }
  return status;
}

absl::StatusOr<bool> PodGroups::HandOver(const std::string& group, const std::string& from) {
  for (SandboxRecord* record : in_the_making_) {
    if (record->id == from || !Uses(*record, group)) continue;
    PLIMSOLL_RETURN_IF_ERROR(GiveTo(record, group));
    return true;
  }
  for (const std::shared_ptr<Sandbox>& sandbox : objects_->Sandboxes()) {
    absl::MutexLock lock(&sandbox->mutex);
    if (sandbox->id == from || !Uses(sandbox->record, group)) continue;
    PLIMSOLL_RETURN_IF_ERROR(GiveTo(&sandbox->record, group));
    return true;
  }
  return false;
}

absl::Status PodGroups::GiveTo(SandboxRecord* heir, const std::string& group) const {
  std::vector<std::string>& owned = heir->owned_cgroups;
  if (absl::c_linear_search(owned, group)) return absl::OkStatus();
  const auto longer = [&](const std::string& other) { return other.size() > group.size(); };
  owned.insert(absl::c_find_if(owned, longer), group);  // outermost first
  return options_.store->PutSandbox(*heir);
}

}  // namespace plimsoll::runtime
