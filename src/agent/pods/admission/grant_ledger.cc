#include "agent/pods/admission/grant_ledger.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/node_room.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

// Ids are unique in their resource.
std::set<std::pair<std::string, std::string>> DevicesOf(const PodGrant& grant) {
  std::set<std::pair<std::string, std::string>> all;
  for (const auto& [container, of_container] : grant.devices) {
    for (const auto& [resource, ids] : of_container) {
      for (const std::string& id : ids) all.emplace(resource, id);
    }
  }
  return all;
}

bool HasMemory(const PodGrant& grant) {
  return !grant.pod.memory.empty() ||
         std::any_of(grant.containers.begin(), grant.containers.end(),
                     [](const auto& each) { return !each.second.memory.empty(); });
}

}  // namespace

bool Overlap(const PodGrant& one, const PodGrant& other) {
  if (!one.ExclusiveCpus().Intersection(other.ExclusiveCpus()).Empty()) return true;
  if (HasMemory(one) && HasMemory(other)) return true;
  const auto devices = DevicesOf(one);
  const auto others = DevicesOf(other);
  return std::any_of(devices.begin(), devices.end(),
                     [&](const auto& each) { return others.contains(each); });
}

GrantLedger::GrantLedger(std::shared_ptr<const NodeManagers> managers, DeviceStock devices,
                         PreferDevices prefer, std::vector<PodTable::Worker> present)
    : present_(std::move(present)),
      ledger_(std::move(managers), std::move(devices), std::move(prefer)) {
  for (const PodTable::Worker& each : present_) {
    if (each->holds_grant()) ledger_.Hold(each->grant());
  }
}

std::optional<PodVerdict> GrantLedger::Claim(const pod::Manifest& pod, PodGrant& grant,
                                             const PodGrant* wish) {
  AllocationLedger trial = ledger_;
  const auto rejection = trial.Allocate(pod, grant, wish);
  if (!rejection) return std::nullopt;
  return PodVerdict{rejection->reason, absl::StrCat(kRejected, rejection->message)};
}

void GrantLedger::Keep(const PodGrant& grant) {
  ledger_.Hold(grant);
  kept_.push_back(grant);
}

absl::Status GrantLedger::Settle(PodTable& table) const {
  for (const PodTable::Worker& each : present_) {
    const PodGrant grant = each->grant();
    if (grant.Empty() || each->holds_grant()) continue;
    const bool is_claimed = std::any_of(
        kept_.begin(), kept_.end(), [&](const PodGrant& claim) { return Overlap(claim, grant); });
    if (!is_claimed) continue;
    PLIMSOLL_RETURN_IF_ERROR(each->ReleaseGrant());
    table.Wake(each->uid());
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
