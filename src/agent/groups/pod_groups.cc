#include "agent/groups/pod_groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/groups/open_cgroups.h"
#include "base/status.h"
#include "linux/huge_page_sizes.h"
#include "linux/process.h"

namespace plimsoll::agent {
namespace {

using linux::CgroupSettings;
using resources::QosClass;

GroupMachine LookAt(const linux::CgroupManager& cgroups, const FsRoot& host) {
  const std::vector<std::string> controllers = cgroups.Controllers();
  return {.layout = cgroups.layout(),
          .controllers = {controllers.begin(), controllers.end()},
          .huge_page_sizes = linux::ReadHugePageSizes(host).value_or(std::set<std::string>())};
}

absl::Status CheckMachine(const GroupMachine& machine) {
  for (const char* controller : {"cpu", "memory"}) {
    if (machine.controllers.contains(controller)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("this machine has no cgroup controller \"", controller,
                     "\", so pods' limits can't be enforced; it has ",
                     absl::StrJoin(machine.controllers, ", ")));
  }
  return absl::OkStatus();
}

absl::Status CheckRoot(const linux::CgroupManager& cgroups, const std::string& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, cgroups.Exists(root));
  if (exists || root == "/") return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cgroup root ", root, " doesn't exist; make it, or leave cgroupRoot empty"));
}

// kubelet sums requests of the class Burstable alone.
int64_t BurstableRequests(const GroupRecords& records) {
  int64_t sum = 0;
  for (const auto& [uid, pod] : records.pods) {
    if (pod.qos != QosClass::kBurstable) continue;
    sum += std::min(pod.cpu_request_milli, std::numeric_limits<int64_t>::max() - sum);
  }
  return sum;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PodGroups>> PodGroups::Open(const FsRoot& host, const FsRoot& state,
                                                           GroupOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto cgroups, OpenCgroups(host, options.driver));
  return OpenWith(std::move(cgroups), host, state, std::move(options));
}

absl::StatusOr<std::unique_ptr<PodGroups>> PodGroups::OpenWith(
    std::unique_ptr<linux::CgroupManager> cgroups, const FsRoot& host, const FsRoot& state,
    GroupOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(GroupNames names, GroupNames::Make(options.driver, options.root));
  GroupMachine machine = LookAt(*cgroups, host);
  PLIMSOLL_RETURN_IF_ERROR(CheckMachine(machine));
  PLIMSOLL_RETURN_IF_ERROR(CheckRoot(*cgroups, names.root()));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string boot_id, linux::ReadBootId(host));
  PLIMSOLL_ASSIGN_OR_RETURN(GroupRecords records, LoadGroupRecords(state, boot_id));
  if (options.note == nullptr) options.note = [](const std::string&) {};
  return std::unique_ptr<PodGroups>(new PodGroups(std::move(cgroups), state, std::move(options),
                                                  std::move(names), std::move(machine),
                                                  std::move(boot_id), std::move(records)));
}

PodGroups::PodGroups(std::unique_ptr<linux::CgroupManager> cgroups, FsRoot state,
                     GroupOptions options, GroupNames names, GroupMachine machine,
                     std::string boot_id, GroupRecords records)
    : cgroups_(std::move(cgroups)),
      state_(std::move(state)),
      options_(std::move(options)),
      names_(std::move(names)),
      machine_(std::move(machine)),
      boot_id_(std::move(boot_id)),
      records_(std::move(records)),
      parents_(cgroups_.get(), names_, machine_, options_.allocatable, records_.parents,
               options_.note, [this](const std::set<std::string>& made) {
                 mutex_.AssertHeld();
                 GroupRecords next = records_;
                 next.parents = made;
                 PLIMSOLL_RETURN_IF_ERROR(SaveGroupRecords(state_, boot_id_, next));
                 records_ = std::move(next);
                 return absl::OkStatus();
               }) {}

std::optional<GroupRecord> PodGroups::Find(const std::string& uid) const {
  const auto at = records_.pods.find(uid);
  return at == records_.pods.end() ? std::nullopt : std::optional(at->second);
}

absl::Status PodGroups::Keep(const std::string& uid, const std::optional<GroupRecord>& record) {
  GroupRecords next = records_;
  if (record.has_value()) {
    next.pods[uid] = *record;
  } else {
    next.pods.erase(uid);
  }
  if (next == records_) return parents_.SetBurstable(BurstableRequests(next));
  absl::Status saved = SaveGroupRecords(state_, boot_id_, next);
  // A pod's end must not wait for space. Its row in the file names a removed group, which the
  // next Sweep passes over.
  if (absl::IsResourceExhausted(saved) && !record.has_value()) saved = absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(saved);
  const absl::Status shared = parents_.SetBurstable(BurstableRequests(next));
  if (!shared.ok()) return AlsoNotSetBack(shared, SaveGroupRecords(state_, boot_id_, records_));
  records_ = std::move(next);
  return absl::OkStatus();
}

absl::Status PodGroups::KeepLocking(const std::string& uid,
                                    const std::optional<GroupRecord>& record) {
  absl::MutexLock lock(&mutex_);
  return Keep(uid, record);
}

CgroupSettings PodGroups::Wanted(const PodAmounts& amounts) const {
  CgroupSettings wanted = amounts.settings;
  wanted.pids_limit = options_.pod_pids_limit > 0 ? options_.pod_pids_limit : -1;
  // A pod may use pages of a size only if it has asked for some.
  for (const std::string& size : machine_.huge_page_sizes) wanted.hugetlb_limits.emplace(size, 0);
  return Fit(std::move(wanted), machine_);
}

absl::StatusOr<bool> PodGroups::HasProcesses(const std::string& group) const {
  const auto pids = cgroups_->Processes(group, /*recursive=*/true);
  if (absl::IsNotFound(pids.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(pids.status());
  return !pids->empty();
}

absl::Status PodGroups::CheckUse(const GroupRecord& wanted,
                                 const std::optional<GroupRecord>& before,
                                 bool has_processes) const {
  if (!before.has_value() && has_processes) {
    return absl::FailedPreconditionError(
        absl::StrCat("cgroup ", wanted.group,
                     " has processes already, and this agent hasn't made it; end them, or remove "
                     "the group"));
  }
  if (before.has_value() && before->group != wanted.group) {
    return absl::FailedPreconditionError(
        absl::StrCat("the pod has cgroup ", before->group, ", of another cgroup driver, root or ",
                     "QoS class than ", wanted.group, "; delete the pod first"));
  }
  return absl::OkStatus();
}

absl::Status PodGroups::Ensure(const std::string& uid, const PodAmounts& amounts) {
  PLIMSOLL_RETURN_IF_ERROR(CheckUid(uid));
  GroupRecord record = {.group = names_.Pod(amounts.qos, uid),
                        .qos = amounts.qos,
                        .cpu_request_milli = amounts.cpu_request_milli};
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_processes, HasProcesses(record.group));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, cgroups_->Exists(record.group));
  std::optional<GroupRecord> before;
  {
    absl::MutexLock lock(&mutex_);
    before = Find(uid);
    PLIMSOLL_RETURN_IF_ERROR(CheckUse(record, before, has_processes));
    if (exists && !before.has_value()) {
      options_.note(absl::StrCat("cgroup ", record.group, " was there already, empty: it is used"));
    }
    if (has_processes && before.has_value()) {
      record.cpu_request_milli = std::max(record.cpu_request_milli, before->cpu_request_milli);
    }
    PLIMSOLL_RETURN_IF_ERROR(parents_.Ensure());
    PLIMSOLL_RETURN_IF_ERROR(Keep(uid, record));
  }
  absl::Status status = Fill(record.group, Wanted(amounts), has_processes);
  if (status.ok()) return status;
  if (!exists) status = AlsoNotSetBack(status, cgroups_->RemoveIfUnused(record.group));
  return AlsoNotSetBack(status, KeepLocking(uid, before));
}

absl::Status PodGroups::Fill(const std::string& group, const CgroupSettings& wanted,
                             bool has_processes) {
  PLIMSOLL_RETURN_IF_ERROR(cgroups_->Create(group).status());
  if (!has_processes) return WriteChanges(*cgroups_, group, wanted);
  PLIMSOLL_ASSIGN_OR_RETURN(const CgroupSettings now, cgroups_->Read(group));
  return WriteChanges(*cgroups_, group, Raises(now, wanted));
}

absl::StatusOr<GroupRecord> PodGroups::Need(const std::string& uid,
                                            const PodAmounts& amounts) const {
  absl::MutexLock lock(&mutex_);
  const std::optional<GroupRecord> record = Find(uid);
  if (!record.has_value()) {
    return absl::NotFoundError(absl::StrCat("pod ", uid, " has no cgroup of this agent"));
  }
  if (record->qos == amounts.qos) return *record;
  return absl::InvalidArgumentError(
      absl::StrCat("pod ", uid, " is ", resources::QosClassName(record->qos), " and would become ",
                   resources::QosClassName(amounts.qos), ": a pod's QoS class can't change"));
}

absl::StatusOr<CgroupSettings> PodGroups::StepChanges(const std::string& group,
                                                      const PodAmounts& amounts, Step step) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const CgroupSettings now, cgroups_->Read(group));
  const CgroupSettings wanted = Wanted(amounts);
  return step == Step::kRaise ? Raises(now, wanted) : Changes(now, wanted);
}

absl::StatusOr<CgroupSettings> PodGroups::Planned(const std::string& uid, const PodAmounts& amounts,
                                                  Step step) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const GroupRecord record, Need(uid, amounts));
  return StepChanges(record.group, amounts, step);
}

absl::Status PodGroups::Update(const std::string& uid, const PodAmounts& amounts, Step step) {
  PLIMSOLL_ASSIGN_OR_RETURN(const GroupRecord before, Need(uid, amounts));
  return step == Step::kRaise ? Raise(uid, before, amounts) : Settle(uid, before, amounts);
}

// The class's shares cover its pods' at any time: raised before the pod's, lowered after.
absl::Status PodGroups::Raise(const std::string& uid, const GroupRecord& before,
                              const PodAmounts& amounts) {
  PLIMSOLL_ASSIGN_OR_RETURN(const CgroupSettings raises,
                            StepChanges(before.group, amounts, Step::kRaise));
  GroupRecord record = before;
  record.cpu_request_milli = std::max(before.cpu_request_milli, amounts.cpu_request_milli);
  PLIMSOLL_RETURN_IF_ERROR(KeepLocking(uid, record));
  const absl::Status raised = WriteChanges(*cgroups_, before.group, raises);
  return raised.ok() ? raised : AlsoNotSetBack(raised, KeepLocking(uid, before));
}

absl::Status PodGroups::Settle(const std::string& uid, const GroupRecord& before,
                               const PodAmounts& amounts) {
  PLIMSOLL_ASSIGN_OR_RETURN(const CgroupSettings now, cgroups_->Read(before.group));
  const CgroupSettings changes = Changes(now, Wanted(amounts));
  PLIMSOLL_RETURN_IF_ERROR(WriteChanges(*cgroups_, before.group, changes));
  GroupRecord record = before;
  record.cpu_request_milli = amounts.cpu_request_milli;
  const absl::Status kept = KeepLocking(uid, record);
  if (kept.ok()) return kept;
  return AlsoNotSetBack(kept, cgroups_->Apply(before.group, Replaced(now, changes)));
}

absl::Status PodGroups::Remove(const std::string& uid) {
  std::optional<GroupRecord> record;
  {
    absl::MutexLock lock(&mutex_);
    record = Find(uid);
  }
  if (!record.has_value()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(cgroups_->Remove(record->group));
  return KeepLocking(uid, std::nullopt);
}

absl::Status PodGroups::Sweep(const std::set<std::string>& living) {
  std::vector<std::string> gone;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [uid, record] : records_.pods) {
      if (!living.contains(uid)) gone.push_back(uid);
    }
  }
  absl::Status result;
  for (const std::string& uid : gone) result = FirstError(result, Remove(uid));
  return result;
}

absl::Status PodGroups::SetAllocatable(Allocatable allocatable) {
  absl::MutexLock lock(&mutex_);
  return parents_.SetAllocatable(std::move(allocatable));
}

absl::Status PodGroups::RemoveUnusedParents() {
  absl::MutexLock lock(&mutex_);
  // A recorded pod's group may be about to be made.
  return records_.pods.empty() ? parents_.RemoveUnused() : absl::OkStatus();
}

}  // namespace plimsoll::agent
