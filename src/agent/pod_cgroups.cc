#include "agent/pod_cgroups.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/enforced_amounts.h"
#include "agent/groups/pod_amounts.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/allocation/places.h"
#include "base/monotonic_time.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

constexpr absl::Duration kEnforceAgain = absl::Minutes(1);
// Reasons of events, kubelet's.
constexpr char kEnforced[] = "NodeAllocatableEnforced";
constexpr char kNotEnforced[] = "FailedNodeAllocatableEnforcement";

absl::StatusOr<PodAmounts> GroupAmounts(const PodRecord& record, const pod::Manifest& pod) {
  CpuQuotaPolicy quota;
  quota.enforced = !HasExclusiveCpus(record.grant, pod);
  return AmountsOf({.containers = ContainersOf(pod),
                    .pod = pod.resources.value_or(resources::Requirements()),
                    .overhead = {}},
                   quota);
}

}  // namespace

absl::StatusOr<CgroupDriver> PodCgroups::Driver() {
  if (options_.driver == "cgroupfs") return CgroupDriver::kCgroupfs;
  if (options_.driver == "systemd") return CgroupDriver::kSystemd;
  const auto config = client_.RuntimeConfig();
  // A runtime from before this call (CRI of Kubernetes 1.27) leaves it to its own configuration.
  if (absl::IsUnimplemented(config.status())) return CgroupDriver::kCgroupfs;
  PLIMSOLL_RETURN_IF_ERROR(config.status());
  return config->linux().cgroup_driver() == ::runtime::v1::SYSTEMD ? CgroupDriver::kSystemd
                                                                   : CgroupDriver::kCgroupfs;
}

absl::StatusOr<PodGroups*> PodCgroups::Groups() {
  const absl::MutexLock lock(&mutex_);
  if (groups_ != nullptr) return groups_.get();
  const NodeState node = options_.node();
  GroupOptions options;
  PLIMSOLL_ASSIGN_OR_RETURN(options.driver, Driver());
  options.root = options_.root;
  options.allocatable = Wanted(node);
  options.pod_pids_limit = options_.pod_pids_limit;
  options.note = options_.note;
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<PodGroups> groups,
                            PodGroups::Open(options_.host, options_.state, std::move(options)));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> living, options_.living());
  // A group whose processes don't end is no reason to run nothing.
  const absl::Status swept = groups->Sweep(living);
  if (!swept.ok()) options_.note(std::string(swept.message()));
  groups_ = std::move(groups);
  return groups_.get();
}

absl::StatusOr<std::string> PodCgroups::Make(const PodRecord& record, const pod::Manifest& pod) {
  const NodeState node = options_.node();
  if (node.allocatable.empty()) {
    return absl::UnavailableError("the node's topology isn't known yet");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(PodGroups* const groups, Groups());
  {
    // A group may have been opened, for a removal, before the topology was known. A limit that is
    // refused, since pods use more, is no reason to start none.
    const absl::MutexLock lock(&enforce_mutex_);
    EnforceNow(*groups, Wanted(node));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const PodAmounts amounts, GroupAmounts(record, pod));
  PLIMSOLL_RETURN_IF_ERROR(groups->Ensure(record.uid, amounts));
  return groups->CgroupParent(record.uid, amounts.qos);
}

absl::Status PodCgroups::Resize(const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                                const std::function<absl::Status()>& announce) {
  PLIMSOLL_ASSIGN_OR_RETURN(PodGroups* const groups, Groups());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodAmounts amounts, GroupAmounts(record, pod));
  const auto part = step == GroupStep::kRaise ? PodGroups::Step::kRaise : PodGroups::Step::kSettle;
  const auto planned = groups->Planned(record.uid, amounts, part);
  if (absl::IsNotFound(planned.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(planned.status());
  if (*planned != linux::CgroupSettings()) PLIMSOLL_RETURN_IF_ERROR(announce());
  return groups->Update(record.uid, amounts, part);
}

absl::Status PodCgroups::Remove(const PodRecord& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(PodGroups* const groups, Groups());
  return groups->Remove(record.uid);
}

Allocatable PodCgroups::Wanted(const NodeState& node) const {
  resources::ResourceList reserved = options_.reserved;
  const auto cpu = reserved.find("cpu");
  const auto capacity = node.capacity.find("cpu");
  const auto allocatable = node.allocatable.find("cpu");
  // reservedSystemCPUs may name some that are not the node's.
  if (cpu != reserved.end() && capacity != node.capacity.end() &&
      allocatable != node.allocatable.end()) {
    cpu->second = capacity->second - allocatable->second;
  }
  return KubepodsAmounts(node.capacity, reserved, MaxPids(options_.host));
}

void PodCgroups::Enforce() {
  const NodeState node = options_.node();
  if (node.capacity.empty()) return;
  const Allocatable wanted = Wanted(node);
  const absl::MutexLock lock(&enforce_mutex_);
  if (enforced_.amounts == wanted && MonotonicNow() < enforced_.at + kEnforceAgain) return;
  const absl::StatusOr<PodGroups*> groups = Groups();
  if (groups.ok()) EnforceNow(**groups, wanted);
}

void PodCgroups::EnforceNow(PodGroups& groups, const Allocatable& wanted) {
  const bool is_other = enforced_.amounts != wanted;
  enforced_.amounts = wanted;
  enforced_.at = MonotonicNow();
  if (is_other) enforced_.is_in_force.erase("");
  Tell("", "all pods", groups.SetAllocatable(wanted));
  for (const ReservedGroup& group : options_.reserved_groups) {
    Tell(group.key, absl::StrCat("cgroup ", group.path, " (", group.key, ")"),
         groups.LimitReserved(group));
  }
}

void PodCgroups::Tell(const std::string& group, const std::string& name,
                      const absl::Status& status) {
  const auto before = enforced_.is_in_force.find(group);
  const bool was_in_force = before != enforced_.is_in_force.end() && before->second;
  enforced_.is_in_force[group] = status.ok();
  if (!status.ok()) {
    options_.event(/*is_warning=*/true, kNotEnforced,
                   absl::StrCat("the limits of ", name,
                                " are not enforced, which is tried again: ", status.message()));
  } else if (!was_in_force) {
    options_.event(/*is_warning=*/false, kEnforced,
                   absl::StrCat("the limits of ", name, " are enforced"));
  }
}

}  // namespace plimsoll::agent
