#include "agent/pod_cgroups.h"

#include <utility>

#include "agent/groups/pod_amounts.h"
#include "agent/pods/admission.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

int64_t AmountOf(const ResourceList& list, const std::string& name, bool milli) {
  const auto it = list.find(name);
  if (it == list.end()) return 0;
  return milli ? it->second.MilliValue() : it->second.Value();
}

Allocatable AllocatableOf(const NodeState& node) {
  return {.cpu_milli = AmountOf(node.allocatable, "cpu", /*milli=*/true),
          .memory_bytes = AmountOf(node.allocatable, "memory", /*milli=*/false)};
}

absl::StatusOr<PodAmounts> GroupAmounts(const pod::Manifest& pod) {
  return AmountsOf({.containers = ContainersOf(pod),
                    .pod = pod.resources.value_or(resources::Requirements()),
                    .overhead = {}},
                   {});
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
  options.allocatable = AllocatableOf(node);
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
  // A group may have been opened, for a removal, before the topology was known.
  PLIMSOLL_RETURN_IF_ERROR(groups->SetAllocatable(AllocatableOf(node)));
  PLIMSOLL_ASSIGN_OR_RETURN(const PodAmounts amounts, GroupAmounts(pod));
  PLIMSOLL_RETURN_IF_ERROR(groups->Ensure(record.uid, amounts));
  return groups->CgroupParent(record.uid, amounts.qos);
}

absl::Status PodCgroups::Resize(const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                                const std::function<absl::Status()>& announce) {
  PLIMSOLL_ASSIGN_OR_RETURN(PodGroups* const groups, Groups());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodAmounts amounts, GroupAmounts(pod));
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

}  // namespace plimsoll::agent
