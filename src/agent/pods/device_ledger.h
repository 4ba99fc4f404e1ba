// Who has which of the node's devices, while new pods are taken.
#ifndef PLIMSOLL_AGENT_PODS_DEVICE_LEDGER_H_
#define PLIMSOLL_AGENT_PODS_DEVICE_LEDGER_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/pods/devices.h"
#include "agent/pods/pod_table.h"

namespace plimsoll::agent {

// For the time of one admission, during which no other pod is taken. Not thread-safe.
class DeviceLedger {
 public:
  // `present`: all pods of the table. `devices` outlives this.
  DeviceLedger(const NodeDevices& devices, std::vector<PodTable::Worker> present);

  // Nobody gets these: a pod that isn't in the table has them.
  void Hold(DeviceIds ids) { held_.merge(std::move(ids)); }
  // As ClaimDevices, beside the pods that are present and those that claimed before.
  std::optional<PodVerdict> Claim(const pod::Manifest& pod, DeviceClaims& claims);
  // Before the claims go on record: takes claimed devices off the records of pods that have ended,
  // so that no device is on two records, and wakes these pods in the table, for their status.
  // Errors of the store; then some records have lost theirs.
  absl::Status Settle(PodTable& table) const;

 private:
  const NodeDevices& devices_;
  const std::vector<PodTable::Worker> present_;
  DeviceIds held_;
  DeviceIds claimed_;  // by Claim
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_DEVICE_LEDGER_H_
