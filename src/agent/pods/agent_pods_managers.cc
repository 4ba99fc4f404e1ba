// AgentPods and the node's managers: the first ones, others after hot-plug, and what they gave.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/managers/allocation_report.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/allocation/place_book.h"
#include "agent/pods/holders.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

void TellOfChange(KubeEventLog& events, const PodWorker& pod, const Refitted& refitted) {
  for (const std::string& note : refitted.notes) {
    events.Add({.kind = "Pod", .key = pod.key(), .uid = pod.uid(), .container = ""}, "Warning",
               "CPUsChanged", note);
  }
}

}  // namespace

std::vector<GrantedPod> AgentPods::Granted(
    std::vector<std::shared_ptr<const pod::Manifest>>& kept) const {
  std::vector<GrantedPod> pods;
  for (const PodTable::Worker& each : table_.All()) {
    GrantedPod pod;
    bool is_released = false;
    each->Read([&](const PodRecord& record) {
      pod.created = record.created;
      pod.grant = record.grant;
      is_released = record.is_grant_released;
    });
    // One that has ended may be unseen yet.
    if ((!each->is_active() || is_released) && !each->holds_grant()) continue;
    kept.push_back(each->manifest());
    pod.uid = each->uid();
    pod.name = absl::StrCat(each->key().pod_namespace, "/", each->key().name);
    pod.manifest = kept.back().get();
    pods.push_back(std::move(pod));
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
  if (pods.empty()) return absl::OkStatus();
  std::map<std::string, const Refitted*> refitted;
  for (const Refitted& each : pods) refitted[each.uid] = &each;
  std::vector<PodWorker::Regrant> regrants;
  const std::vector<PodTable::Worker> all = table_.All();
  for (const PodTable::Worker& each : all) {
    // One of an unreadable record is without a worker, and left alone.
    const auto it = refitted.find(each->uid());
    if (it != refitted.end()) {
      regrants.push_back({each.get(), it->second->grant});
      continue;
    }
    // An ended pod's grant may be another's now: nothing is on two records.
    const PodGrant left = each->grant();
    if (left.Empty() || each->holds_grant()) continue;
    const bool is_taken = std::any_of(pods.begin(), pods.end(), [&](const Refitted& other) {
      return Overlap(other.grant, left);
    });
    if (is_taken) regrants.push_back({each.get(), std::nullopt});
  }
  PLIMSOLL_RETURN_IF_ERROR(PodWorker::PutGrants(host_.store, regrants));
  for (const PodWorker::Regrant& each : regrants) {
    table_.Wake(each.pod->uid());
    if (each.grant) TellOfChange(host_.events, *each.pod, *refitted[each.pod->uid()]);
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

void AgentPods::UseRoom() {
  const std::shared_ptr<const NodeManagers> managers = host_.places->managers();
  if (managers == nullptr) return;
  std::vector<std::shared_ptr<const pod::Manifest>> kept;
  const std::vector<GrantedPod> granted = Granted(kept);
  if (IsAnyShort(*managers, granted)) {
    const absl::Status put = PutRefitted(Refit(managers, granted));
    if (!put.ok() && note_) {
      note_(absl::StrCat("pods that are short of CPUs or memory wait for the end of another pod: ",
                         put.message()));
    }
  }
  ShareCpus(managers);
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
    if (each->grant().devices.empty()) continue;
    each->OnDevices();
    table_.Wake(each->uid());
  }
  Retry();
}

nlohmann::json AgentPods::Allocations() const {
  const std::shared_ptr<const NodeManagers> managers = host_.places->managers();
  return ReportAllocations(
      managers == nullptr ? AllocationSources() : SourcesOf(*managers),
      host_.device_manager == nullptr ? DeviceStock() : host_.device_manager->Stock(),
      Holders(*this));
}

}  // namespace plimsoll::agent
