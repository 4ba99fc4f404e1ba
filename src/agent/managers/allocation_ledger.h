// Who has what, while new pods are taken and the machine changes.
//
//   AllocationLedger ledger(managers, devices.Stock(), prefer);
//   for (each pod that holds something) ledger.Hold(pod.grant);
//   PodGrant grant;
//   if (auto verdict = ledger.Allocate(manifest, grant)) reject(*verdict);
//
// The sum of all pods' grants is the managers' whole state: there is no other checkpoint that could
// differ from it.
#ifndef PLIMSOLL_AGENT_MANAGERS_ALLOCATION_LEDGER_H_
#define PLIMSOLL_AGENT_MANAGERS_ALLOCATION_LEDGER_H_

#include <memory>
#include <optional>

#include "agent/device_manager/device_stock.h"
#include "agent/managers/holdings.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_allocation.h"
#include "agent/managers/pod_grant.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Not thread-safe; for the time of one admission, during which no other pod is taken.
class AllocationLedger {
 public:
  // `prefer` may be null: no plugin is asked.
  AllocationLedger(std::shared_ptr<const NodeManagers> managers, DeviceStock devices,
                   PreferDevices prefer);

  // Reserves the pod's grant: nobody else gets any of it.
  void Hold(const PodGrant& grant);

  using Rejection = AllocationRejection;
  // Gives each container of the pod what its policies say, in the pod's order, and holds it.
  // `wish`: what the pod had elsewhere or before. Each part of it is taken that is free and of the
  // right size, unless the pod can't be admitted with it.
  // A rejection leaves ledger and `grant` as they were.
  std::optional<Rejection> Allocate(const pod::Manifest& pod, PodGrant& grant,
                                    const PodGrant* wish = nullptr);

  const resources::CpuSet& exclusive_cpus() const { return held_.cpus; }
  // For containers without CPUs of their own; nullopt: the CPU manager's policy is none, so that
  // the runtime's partition alone confines them.
  std::optional<resources::CpuSet> shared_cpus() const;

 private:
  std::shared_ptr<const NodeManagers> managers_;
  DeviceStock devices_;
  PreferDevices prefer_;
  Holdings held_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_ALLOCATION_LEDGER_H_
