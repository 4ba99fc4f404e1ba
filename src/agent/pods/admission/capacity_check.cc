#include "agent/pods/admission/capacity_check.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/records/pod_key.h"
#include "base/status.h"
#include "pod_runner/cri_requests/pod_level.h"

namespace plimsoll::agent {
namespace {

bool IsOfTopology(const std::string& resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource == "pods" || absl::StartsWith(resource, "hugepages-");
}

resources::Quantity AmountIn(const resources::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? resources::Quantity() : it->second;
}

// The first resource of which `used` is more than there is, and `requests` has some. Empty: none.
std::string ShortOf(const resources::ResourceList& requests, const resources::ResourceList& used,
                    const resources::ResourceList& allocatable) {
  for (const auto& [name, amount] : requests) {
    if (amount.IsZero() || !IsOfTopology(name)) continue;
    if (AmountIn(used, name) > AmountIn(allocatable, name)) return name;
  }
  return "";
}

// Lower is evicted sooner.
int RankOf(const pod::Manifest& pod) {
  switch (pod::QosClassOf(pod)) {
    case resources::QosClass::kBestEffort:
      return 0;
    case resources::QosClass::kBurstable:
      return 1;
    case resources::QosClass::kGuaranteed:
      return 2;
  }
  return 2;
}

}  // namespace

std::vector<SurplusPod> SurplusOf(const std::vector<ActivePod>& pods,
                                  const resources::ResourceList& allocatable) {
  std::vector<resources::ResourceList> requests;
  resources::ResourceList used;
  for (const ActivePod& each : pods) {
    requests.push_back(RequestsOf(*each.manifest));
    Add(requests.back(), used);
  }
  std::vector<size_t> order(pods.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    const int ranks[] = {RankOf(*pods[one].manifest), RankOf(*pods[other].manifest)};
    if (ranks[0] != ranks[1]) return ranks[0] < ranks[1];
    return pods[one].created > pods[other].created;
  });
  std::vector<SurplusPod> surplus;
  for (const size_t index : order) {
    const std::string name = ShortOf(requests[index], used, allocatable);
    if (name.empty()) continue;
    surplus.push_back(
        {index,
         {.reason = "Evicted",
          .message = absl::StrCat("The node was low on resource: ", name, ". Pods request ",
                                  AmountIn(used, name).Canonical(), ", allocatable is ",
                                  AmountIn(allocatable, name).Canonical(), ". ")}});
    for (const auto& [resource, amount] : requests[index]) {
      used[resource] = used[resource] - amount;
    }
  }
  return surplus;
}

CapacityCheck::Outcome CapacityCheck::Look(const std::vector<PodTable::Worker>& pods,
                                           const resources::ResourceList& allocatable) {
  Outcome outcome;
  if (allocatable.empty() || checked_ == allocatable) return outcome;
  std::vector<PodTable::Worker> workers;
  std::vector<std::shared_ptr<const pod::Manifest>> kept;  // alive for `active`
  std::vector<ActivePod> active;
  for (const PodTable::Worker& each : pods) {
    if (!each->is_known()) return outcome;
    bool is_deleted = false;
    absl::Time created;
    each->Read([&](const PodRecord& record) {
      is_deleted = record.deleted.has_value();
      created = record.created;
    });
    if (!each->is_active() || is_deleted) continue;
    workers.push_back(each);
    kept.push_back(each->manifest());
    active.push_back({kept.back().get(), created});
  }
  for (const SurplusPod& each : SurplusOf(active, allocatable)) {
    PodWorker& worker = *workers[each.index];
    const InvolvedObject subject = {
        .kind = "Pod", .key = worker.key(), .uid = worker.uid(), .container = ""};
    if (!evicts_) {
      events_.Add(
          subject, "Warning", "CapacityShrunk",
          absl::StrCat(each.verdict.message, "The pod stays: evictAfterCapacityShrinks is false"));
      continue;
    }
    const absl::Status ended = worker.Evict(each.verdict);
    if (absl::IsNotFound(ended)) continue;  // it has ended by itself
    if (!ended.ok()) {
      const PodKey& key = worker.key();
      outcome.status = FirstError(outcome.status, Annotate(ended, PodName(key)));
      continue;
    }
    events_.Add(subject, "Warning", each.verdict.reason, each.verdict.message);
    outcome.evicted.push_back(worker.uid());
  }
  if (outcome.status.ok()) checked_ = allocatable;
  return outcome;
}

}  // namespace plimsoll::agent
