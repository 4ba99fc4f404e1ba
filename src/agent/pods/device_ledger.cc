#include "agent/pods/device_ledger.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace plimsoll::agent {

DeviceLedger::DeviceLedger(const NodeDevices& devices, std::vector<PodTable::Worker> present)
    : devices_(devices), present_(std::move(present)) {
  for (const PodTable::Worker& each : present_) {
    if (each->holds_devices()) Hold(IdsOf(each->record().grant.devices));
  }
}

std::optional<PodVerdict> DeviceLedger::Claim(const pod::Manifest& pod, DeviceClaims& claims) {
  std::optional<PodVerdict> verdict = ClaimDevices(devices_, pod, held_, claims);
  if (verdict) return verdict;
  const DeviceIds ids = IdsOf(claims);
  held_.insert(ids.begin(), ids.end());
  claimed_.insert(ids.begin(), ids.end());
  return std::nullopt;
}

absl::Status DeviceLedger::Settle(PodTable& table) const {
  if (claimed_.empty()) return absl::OkStatus();
  for (const PodTable::Worker& each : present_) {
    if (each->holds_devices()) continue;
    const DeviceIds ids = IdsOf(each->record().grant.devices);
    const bool is_claimed = std::any_of(
        ids.begin(), ids.end(), [this](const std::string& id) { return claimed_.contains(id); });
    if (!is_claimed) continue;
    PLIMSOLL_RETURN_IF_ERROR(each->ReleaseDevices());
    table.Wake(each->uid());
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
