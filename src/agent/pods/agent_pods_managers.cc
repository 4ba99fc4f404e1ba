// AgentPods and the node's managers: the first ones, others after hot-plug, and what they gave.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/managers/allocation_report.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/holders.h"
#include "agent/pods/place_book.h"
#include "base/status.h"

namespace plimsoll::agent {

std::vector<GrantedPod> AgentPods::Granted(
    std::vector<std::shared_ptr<const pod::Manifest>>& kept) const {
  std::vector<GrantedPod> pods;
  for (const PodTable::Worker& each : table_.All()) {
    const PodRecord record = each->record();
    // One that has ended may be unseen yet.
    const bool lives = each->is_active() && !record.is_grant_released;
    if (!lives && !each->holds_grant()) continue;
    kept.push_back(each->manifest());
    pods.push_back({.uid = record.uid,
                    .name = absl::StrCat(record.key.pod_namespace, "/", record.key.name),
                    .created = record.created,
                    .manifest = kept.back().get(),
                    .grant = record.grant});
  }
  for (const auto& [key, aside] : unreadable_) {
    pods.push_back({.uid = aside.record.uid,
                    .name = absl::StrCat(key.pod_namespace, "/", key.name),
                    .created = aside.record.created,
                    .manifest = nullptr,
                    .grant = aside.record.grant});
  }
  return pods;
}

absl::Status AgentPods::PutRefitted(const std::vector<Refitted>& pods) {
  std::map<std::string, PodTable::Worker> workers;
  for (PodTable::Worker& each : table_.All()) workers[each->uid()] = std::move(each);
  for (const Refitted& each : pods) {
    const auto worker = workers.find(each.uid);
    // It has gone meanwhile, or its record can't be read and is left alone.
    if (worker == workers.end()) continue;
    PLIMSOLL_RETURN_IF_ERROR(worker->second->SetPlaces(each.grant));
    const PodKey& key = worker->second->key();
    for (const std::string& note : each.notes) {
      host_.events.Add({.kind = "Pod", .key = key, .uid = each.uid, .container = ""}, "Warning",
                       "CPUsChanged", note);
    }
  }
  return absl::OkStatus();
}

absl::Status AgentPods::SetManagers(std::shared_ptr<const NodeManagers> managers, bool refit) {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const pod::Manifest>> kept;
  const std::vector<GrantedPod> granted = Granted(kept);
  if (refit) {
    PLIMSOLL_RETURN_IF_ERROR(PutRefitted(Refit(managers, granted)));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(CheckFit(*managers, granted));
  }
  ShareCpus(std::move(managers));
  table_.WakeAll();
  return absl::OkStatus();
}

void AgentPods::ShareCpus(std::shared_ptr<const NodeManagers> managers) {
  if (managers == nullptr) return;
  GrantLedger ledger(managers, {}, nullptr, table_.All());
  for (const auto& [key, aside] : unreadable_) ledger.Hold(aside.record.grant);
  if (host_.places->Set(std::move(managers), ledger.shared_cpus())) table_.WakeAll();
}

void AgentPods::WakeAfterAmounts() {
  if (!host_.node_amounts) return;
  const NodeAmounts now = host_.node_amounts();
  if (std::exchange(amounts_, now) != now) table_.WakeAll();
}

void AgentPods::OnDevices() {
  for (const PodTable::Worker& each : table_.All()) {
    if (each->record().grant.devices.empty()) continue;
    each->OnDevices();
    table_.Wake(each->uid());
  }
  Retry();
}

std::vector<PodRecord> AgentPods::Unreadable() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<PodRecord> records;
  for (const auto& [key, aside] : unreadable_) records.push_back(aside.record);
  return records;
}

nlohmann::json AgentPods::Allocations() const {
  const std::shared_ptr<const NodeManagers> managers = host_.places->managers();
  return ReportAllocations(
      managers == nullptr ? AllocationSources() : SourcesOf(*managers),
      host_.device_manager == nullptr ? DeviceStock() : host_.device_manager->Stock(),
      Holders(*this));
}

}  // namespace plimsoll::agent
