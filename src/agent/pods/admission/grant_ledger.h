// Who has which of the node's CPUs, memory and devices, while new pods are taken.
#ifndef PLIMSOLL_AGENT_PODS_ADMISSION_GRANT_LEDGER_H_
#define PLIMSOLL_AGENT_PODS_ADMISSION_GRANT_LEDGER_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "agent/device_manager/device_stock.h"
#include "agent/managers/allocation_ledger.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "agent/pods/life/pod_table.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Both have a CPU or a device, or both have memory.
bool Overlap(const PodGrant& one, const PodGrant& other);

// For the time of one admission, during which no other pod is taken. Not thread-safe.
class GrantLedger {
 public:
  // `present`: all pods of the table.
  GrantLedger(std::shared_ptr<const NodeManagers> managers, DeviceStock devices,
              PreferDevices prefer, std::vector<PodTable::Worker> present);

  // Nobody gets it: a pod that isn't in the table has it.
  void Hold(const PodGrant& grant) { ledger_.Hold(grant); }
  // See AllocationLedger::Allocate. What is claimed is held once it is kept, before any other call.
  std::optional<PodVerdict> Claim(const pod::Manifest& pod, PodGrant& grant,
                                  const PodGrant* wish = nullptr);
  void Keep(const PodGrant& grant);
  // Before the claims go on record: takes claimed grants off the records of pods that have ended,
  // so that nothing is on two records, and wakes these pods in the table, for their status.
  // Errors of the store; then some records have lost theirs.
  absl::Status Settle(PodTable& table) const;

  std::optional<resources::CpuSet> shared_cpus() const { return ledger_.shared_cpus(); }

 private:
  const std::vector<PodTable::Worker> present_;
  AllocationLedger ledger_;
  std::vector<PodGrant> kept_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ADMISSION_GRANT_LEDGER_H_
