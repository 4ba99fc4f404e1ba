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

using resources::CpuSet;

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

RefitPod AsItIs(const NodeManagers& managers, const GrantedPod& granted) {
  RefitPod pod;
  pod.name = granted.name;
  pod.before = granted.grant;
  DropEmpty(pod.before);
  pod.grant = pod.before;
  pod.has_manifest = granted.manifest != nullptr;
  pod.demand = pod.has_manifest ? DemandOf(*granted.manifest, managers.options().pod_level)
                                : DemandOfGrant(pod.grant);
  pod.is_whole = IsWhole(managers, pod.demand, pod.grant);
  return pod;
}

// In the order of ByAge.
std::vector<RefitPod> RefitAll(const NodeManagers& managers, const std::vector<GrantedPod>& pods) {
  std::vector<RefitPod> all;
  for (const size_t i : ByAge(pods)) all.push_back(AsItIs(managers, pods[i]));
  CpuRefit(managers, all).Run();
  MemoryRefit(managers, all).Run();
  for (RefitPod& pod : all) DropEmpty(pod.grant);
  return all;
}

bool IsShort(const NodeManagers& managers, const Demand& demand, const ContainerGrant& has) {
  const bool lacks_cpus =
      managers.cpus() != nullptr &&
      has.cpus.Size() < static_cast<size_t>(std::min(demand.cpus, int64_t{CpuSet::kMaxCpus}));
  return lacks_cpus || (managers.memory() != nullptr && WantsMemory(demand) && has.memory.empty());
}

bool IsShort(const NodeManagers& managers, const RefitPod& pod) {
  if (pod.is_whole) return IsShort(managers, pod.demand.pod, pod.grant.pod);
  const auto& all = pod.demand.containers;
  return std::any_of(all.begin(), all.end(), [&](const ContainerDemand& each) {
    return IsShort(managers, each, RefitPod::In(pod.grant, each.name));
  });
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

bool IsAnyShort(const NodeManagers& managers, const std::vector<GrantedPod>& pods) {
  return std::any_of(pods.begin(), pods.end(), [&](const GrantedPod& each) {
    return IsShort(managers, AsItIs(managers, each));
  });
}

}  // namespace plimsoll::agent
