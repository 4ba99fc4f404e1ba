#include "agent/managers/pod_allocation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/managers/pod_parts.h"
#include "agent/memory_manager/reused_memory.h"

namespace plimsoll::agent {
namespace {

AllocationRejection Misplaced(const char* of_own_resources) {
  return {.reason = "TopologyAffinityError",
          .message = of_own_resources == nullptr
                         ? "Resources cannot be allocated with Topology locality"
                         : absl::StrCat("Pod Scope ", of_own_resources)};
}

AllocationRejection RejectionOf(const absl::Status& status) {
  if (StaticCpuPolicy::IsSmtAlignmentError(status)) {
    return {.reason = "SMTAlignmentError", .message = std::string(status.message())};
  }
  return {.reason = "UnexpectedAdmissionError",
          .message =
              absl::StrCat("Allocate failed due to ", status.message(), ", which is unexpected")};
}

AllocationRejection EmptyPool(std::string fault) {
  return {.reason = "EmptyPodSharedPoolError", .message = std::move(fault)};
}

}  // namespace

PodAllocation::PodAllocation(const NodeManagers& managers, const DeviceStock& devices,
                             const PreferDevices& prefer, const Holdings& held,
                             const PodDemand& demand, const PodGrant* wish)
    : managers_(managers),
      stock_(devices),
      prefer_(prefer),
      held_(held),
      demand_(demand),
      wish_(wish) {}

std::optional<AllocationRejection> PodAllocation::Run() {
  const TopologyOptions& options = managers_.topology().options();
  if (options.policy != TopologyPolicy::kNone) {
    return options.scope == TopologyScope::kPod ? AllocateByPod() : AllocateByContainer();
  }
  for (const ContainerDemand& container : demand_.containers) {
    if (auto rejection = Allocate(container, Hint{})) return rejection;
  }
  return std::nullopt;
}

std::optional<AllocationRejection> PodAllocation::AllocateByContainer() {
  for (const ContainerDemand& container : demand_.containers) {
    const TopologyManager::Decision decision = Decide(container, container.name);
    if (!decision.admitted) {
      return Misplaced(OwnsResources() ? "pod with pod-level resources failed admission with a "
                                         "container-level topology manager"
                                       : nullptr);
    }
    if (auto rejection = Allocate(container, decision.best)) return rejection;
  }
  return std::nullopt;
}

std::optional<AllocationRejection> PodAllocation::AllocateByPod() {
  const TopologyManager::Decision decision = Decide(demand_.pod, "");
  if (!decision.admitted) {
    return Misplaced(OwnsResources() ? "pod with pod-level resources failed admission under "
                                       "pod-scope topology manager"
                                     : nullptr);
  }
  const Hint& hint = decision.best;
  if (!OwnsResources()) {
    for (const ContainerDemand& container : demand_.containers) {
      if (auto rejection = Allocate(container, hint)) return rejection;
    }
    return std::nullopt;
  }
  if (auto rejection = AllocateOwnCpus(hint)) return rejection;
  if (auto rejection = AllocateOwnMemory(hint)) return rejection;
  // kubelet leaves the devices of such a pod to the start of its containers.
  for (const ContainerDemand& container : demand_.containers) {
    const absl::Status status = AllocateDevices(container, hint);
    if (!status.ok()) return RejectionOf(status);
  }
  return std::nullopt;
}

std::optional<AllocationRejection> PodAllocation::Allocate(const ContainerDemand& container,
                                                           const Hint& hint) {
  absl::Status status = AllocateDevices(container, hint);
  if (status.ok()) status = AllocateCpus(container, hint);
  if (status.ok()) status = AllocateMemory(container, hint);
  if (status.ok()) return std::nullopt;
  return RejectionOf(status);
}

absl::Status PodAllocation::AllocateDevices(const ContainerDemand& container, const Hint& hint) {
  for (const auto& [resource, count] : container.devices) {
    if (!IsDevice(resource)) continue;
    absl::StatusOr<std::vector<std::string>> chosen =
        ChooseDevices(RequestOf(resource, count, container.name), hint.nodes, prefer_);
    if (!chosen.ok()) return chosen.status();
    DeviceIds& reusable = reusable_devices_[resource];
    for (const std::string& id : *chosen) {
      if (container.IsOrdinaryInit()) {
        reusable.insert(id);
      } else {
        reusable.erase(id);
      }
    }
    grant_.devices[container.name][resource] = *std::move(chosen);
  }
  return absl::OkStatus();
}

absl::Status PodAllocation::AllocateCpus(const ContainerDemand& container, const Hint& hint) {
  const StaticCpuPolicy* policy = managers_.cpus();
  if (policy == nullptr || container.cpus == 0) return absl::OkStatus();
  resources::CpuSet free = FreeCpus();
  resources::CpuSet reusable = reusable_cpus_;
  const ContainerGrant* wish = CpuWish(container.name, container.cpus);
  if (wish != nullptr && MayBeAt(wish->cpus, hint.nodes)) {
    free = wish->cpus;
    reusable = {};
  }
  absl::StatusOr<resources::CpuSet> cpus =
      policy->Allocate(container.cpus, hint.nodes, free, reusable);
  if (!cpus.ok()) return cpus.status();
  reusable_cpus_ =
      container.IsOrdinaryInit() ? reusable_cpus_.Union(*cpus) : reusable_cpus_.Difference(*cpus);
  ContainerGrant& own = grant_.containers[container.name];
  own.cpus = *std::move(cpus);
  own.cpu_count = container.cpus;
  return absl::OkStatus();
}

absl::Status PodAllocation::AllocateMemory(const ContainerDemand& container, const Hint& hint) {
  const StaticMemoryPolicy* policy = managers_.memory();
  if (policy == nullptr || !container.memory) return absl::OkStatus();
  if (container.has_odd_memory) {
    return absl::FailedPreconditionError("[memorymanager] failed to represent quantity as int64");
  }
  const std::optional<NodeMask> wish =
      hint.nodes ? std::nullopt : MemoryWish(container.name, *container.memory);
  absl::StatusOr<std::vector<MemoryBlock>> blocks = policy->Allocate(
      *container.memory, wish ? Hint{wish, true} : hint, UsedMemory(), ReusableMemory());
  if (!blocks.ok()) return blocks.status();
  if (blocks->empty()) return absl::OkStatus();
  TakeOver(*blocks, EndedMemory());
  grant_.containers[container.name].memory = *std::move(blocks);
  return absl::OkStatus();
}

std::optional<AllocationRejection> PodAllocation::AllocateOwnCpus(const Hint& hint) {
  const StaticCpuPolicy* policy = managers_.cpus();
  const int64_t count = demand_.pod.cpus;
  if (policy == nullptr || count == 0) return std::nullopt;
  if (std::string fault = CpuPoolFault(demand_); !fault.empty()) return EmptyPool(std::move(fault));
  const ContainerGrant* wish = CpuWish("", count);
  const bool has_wish = wish != nullptr && MayBeAt(wish->cpus, hint.nodes);
  absl::StatusOr<resources::CpuSet> cpus =
      policy->Allocate(count, hint.nodes, has_wish ? wish->cpus : FreeCpus(), /*reusable=*/{});
  if (!cpus.ok()) return RejectionOf(cpus.status());
  grant_.pod.cpus = *std::move(cpus);
  grant_.pod.cpu_count = count;
  const absl::Status divided = DivideCpus(
      demand_,
      [&](const ContainerDemand& container,
          const resources::CpuSet& pool) -> absl::StatusOr<resources::CpuSet> {
        const ContainerGrant* part = WishOf(container.name);
        if (part != nullptr && static_cast<int64_t>(part->cpus.Size()) == container.cpus &&
            part->cpus.IsSubsetOf(pool)) {
          return part->cpus;
        }
        return policy->TakeFrom(pool, container.cpus);
      },
      grant_);
  if (!divided.ok()) return RejectionOf(divided);
  return std::nullopt;
}

std::optional<AllocationRejection> PodAllocation::AllocateOwnMemory(const Hint& hint) {
  const StaticMemoryPolicy* policy = managers_.memory();
  const Demand& pod = demand_.pod;
  if (policy == nullptr || !pod.memory || pod.has_odd_memory) return std::nullopt;
  if (std::string fault = MemoryPoolFault(demand_); !fault.empty()) {
    return EmptyPool(std::move(fault));
  }
  const std::optional<NodeMask> wish = hint.nodes ? std::nullopt : MemoryWish("", *pod.memory);
  absl::StatusOr<std::vector<MemoryBlock>> blocks =
      policy->Allocate(*pod.memory, wish ? Hint{wish, true} : hint, held_.memory, /*reusable=*/{});
  if (!blocks.ok()) return RejectionOf(blocks.status());
  grant_.pod.memory = *std::move(blocks);
  DivideMemory(demand_, grant_);
  return std::nullopt;
}

}  // namespace plimsoll::agent
