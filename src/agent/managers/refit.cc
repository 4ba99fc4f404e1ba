#include "agent/managers/refit.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/managers/cpu_refit.h"
#include "agent/managers/memory_refit.h"
#include "agent/managers/pod_demand.h"
#include "agent/managers/pod_parts.h"
#include "agent/managers/refit_pod.h"

namespace plimsoll::agent {
namespace {

constexpr size_t kMostPodsNamed = 3;
constexpr size_t kMostFaultsNamed = 3;

// For a pod whose manifest can't be read: it is to have what it had. Any two of its containers may
// overlap, as init containers do.
PodDemand DemandOfGrant(const PodGrant& grant) {
  const auto fill = [](const ContainerGrant& had, Demand& demand) {
    demand.cpus = had.cpu_count;
    if (had.memory.empty()) return;
    demand.memory.emplace();
    for (const MemoryBlock& block : had.memory) (*demand.memory)[block.resource] = block.bytes;
  };
  PodDemand demand;
  fill(grant.pod, demand.pod);
  for (const auto& [name, had] : grant.containers) {
    ContainerDemand container;
    container.name = name;
    container.role = resources::ContainerRequirements::Role::kInit;
    fill(had, container);
    demand.containers.push_back(std::move(container));
  }
  return demand;
}

bool IsWhole(const NodeManagers& managers, const PodDemand& demand, const PodGrant& grant) {
  if (!grant.pod.Empty()) return true;
  if (!grant.containers.empty()) return false;
  const TopologyOptions& topology = managers.topology().options();
  return demand.has_own_resources && managers.options().pod_level &&
         topology.policy != TopologyPolicy::kNone && topology.scope == TopologyScope::kPod;
}

// Places in `pods`, oldest first.
std::vector<size_t> ByAge(const std::vector<GrantedPod>& pods) {
  std::vector<size_t> order(pods.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return std::tie(pods[one].created, pods[one].uid) <
           std::tie(pods[other].created, pods[other].uid);
  });
  return order;
}

// In the order of ByAge.
std::vector<RefitPod> RefitAll(const NodeManagers& managers, const std::vector<GrantedPod>& pods) {
  std::vector<RefitPod> all;
  for (const size_t i : ByAge(pods)) {
    RefitPod pod;
    pod.name = pods[i].name;
    pod.before = pods[i].grant;
    DropEmpty(pod.before);
    pod.grant = pod.before;
    pod.has_manifest = pods[i].manifest != nullptr;
    pod.demand = pod.has_manifest ? DemandOf(*pods[i].manifest, managers.options().pod_level)
                                  : DemandOfGrant(pod.grant);
    pod.is_whole = IsWhole(managers, pod.demand, pod.grant);
    all.push_back(std::move(pod));
  }
  CpuRefit(managers, all).Run();
  MemoryRefit(managers, all).Run();
  for (RefitPod& pod : all) DropEmpty(pod.grant);
  return all;
}

std::string FaultsOf(const RefitPod& pod) {
  const size_t count = std::min(pod.faults.size(), kMostFaultsNamed);
  std::string text =
      absl::StrCat("pod ", pod.name, ": ",
                   absl::StrJoin(pod.faults.begin(),
                                 pod.faults.begin() + static_cast<std::ptrdiff_t>(count), ", "));
  if (count < pod.faults.size()) absl::StrAppend(&text, ", …");
  return text;
}

}  // namespace

absl::Status CheckFit(const NodeManagers& managers, const std::vector<GrantedPod>& pods) {
  std::vector<std::string> named;
  size_t count = 0;
  for (const RefitPod& pod : RefitAll(managers, pods)) {
    if (pod.faults.empty()) continue;
    if (++count <= kMostPodsNamed) named.push_back(FaultsOf(pod));
  }
  if (count == 0) return absl::OkStatus();
  if (count > named.size()) named.push_back(absl::StrCat(count - named.size(), " more pods"));
  return absl::FailedPreconditionError(absl::StrCat(
      "what pods have on record doesn't fit the node: ", absl::StrJoin(named, "; "),
      ". Give the node its CPUs, memory and reservations back; or start the agent with feature "
      "gate NodeResourceHotPlug=true, which gives these pods what fits while they run on, or lets "
      "them be deleted"));
}

std::vector<Refitted> Refit(std::shared_ptr<const NodeManagers> managers,
                            const std::vector<GrantedPod>& pods) {
  std::vector<RefitPod> all = RefitAll(*managers, pods);
  const std::vector<size_t> order = ByAge(pods);
  std::vector<Refitted> changed;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].grant == all[i].before) continue;
    changed.push_back({pods[order[i]].uid, std::move(all[i].grant), std::move(all[i].notes)});
  }
  return changed;
}

}  // namespace plimsoll::agent
