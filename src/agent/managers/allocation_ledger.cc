#include "agent/managers/allocation_ledger.h"

#include <utility>

#include "agent/managers/pod_demand.h"

namespace plimsoll::agent {

AllocationLedger::AllocationLedger(std::shared_ptr<const NodeManagers> managers,
                                   DeviceStock devices, PreferDevices prefer)
    : managers_(std::move(managers)), devices_(std::move(devices)), prefer_(std::move(prefer)) {}

void AllocationLedger::Hold(const PodGrant& grant) {
  held_.Add(grant);
}

std::optional<AllocationLedger::Rejection> AllocationLedger::Allocate(const pod::Manifest& pod,
                                                                      PodGrant& grant,
                                                                      const PodGrant* wish) {
  const PodDemand demand = DemandOf(pod, managers_->options().pod_level);
  std::optional<Rejection> rejection;
  for (const PodGrant* hope : {wish, static_cast<const PodGrant*>(nullptr)}) {
    PodAllocation allocation(*managers_, devices_, prefer_, held_, demand, hope);
    rejection = allocation.Run();
    if (!rejection) {
      grant = std::move(allocation).grant();
      Hold(grant);
      return std::nullopt;
    }
    if (wish == nullptr) break;
  }
  return rejection;
}

std::optional<resources::CpuSet> AllocationLedger::shared_cpus() const {
  if (managers_->cpus() == nullptr) return std::nullopt;
  return managers_->cpus()->SharedBeside(held_.cpus);
}

}  // namespace plimsoll::agent
