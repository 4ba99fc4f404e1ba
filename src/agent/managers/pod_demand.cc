#include "agent/managers/pod_demand.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resources/pod_total.h"

namespace plimsoll::agent {
namespace {

using Containers = std::vector<resources::ContainerRequirements>;
using Role = resources::ContainerRequirements::Role;

bool IsMemory(const std::string& resource) {
  return resource == "memory" || absl::StartsWith(resource, "hugepages-");
}

bool CanBeOfAPod(const std::string& resource) {
  return resource == "cpu" || IsMemory(resource);
}

bool HasOwnResources(const pod::Manifest& pod) {
  if (!pod.resources) return false;
  for (const resources::ResourceList* list : {&pod.resources->requests, &pod.resources->limits}) {
    for (const auto& [name, amount] : *list) {
      if (CanBeOfAPod(name)) return true;
    }
  }
  return false;
}

resources::Quantity AmountOf(const resources::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? resources::Quantity() : it->second;
}

// 0 for a fraction.
int64_t WholeCpus(const resources::Quantity& amount) {
  const int64_t value = amount.Value();
  return resources::Quantity::FromInt(value) == amount ? value : 0;
}

// Whether the container alone would make a pod Guaranteed.
bool IsGuaranteed(const resources::Requirements& requirements) {
  for (const char* name : {"cpu", "memory"}) {
    const resources::Quantity request = AmountOf(requirements.requests, name);
    if (request.IsZero() || request != AmountOf(requirements.limits, name)) return false;
  }
  return true;
}

void SetMemory(const resources::ResourceList& requests, bool without_zeros, Demand& demand) {
  demand.memory.emplace();
  for (const auto& [name, amount] : requests) {
    if (!IsMemory(name)) continue;
    const int64_t bytes = amount.Value();
    if (resources::Quantity::FromInt(bytes) != amount) demand.has_odd_memory = true;
    if (without_zeros && bytes <= 0) continue;
    (*demand.memory)[name] = bytes;
  }
  if (demand.has_odd_memory) demand.memory->clear();
}

void SetDevices(const resources::Requirements& requirements, Demand& demand) {
  // A valid request of an extended resource is its limit.
  for (const resources::ResourceList* list : {&requirements.limits, &requirements.requests}) {
    for (const auto& [name, amount] : *list) {
      if (CanBeOfAPod(name) || name == "ephemeral-storage") continue;
      if (amount.Value() > 0) demand.devices.emplace(name, amount.Value());
    }
  }
}

// The most at any time of a pod's life.
class Sum {
 public:
  void Add(const ContainerDemand& container, int64_t amount) {
    if (container.IsOrdinaryInit()) {
      while_starting_ = std::max(while_starting_, sidecars_ + amount);
      return;
    }
    running_ += amount;
    if (container.role == Role::kSidecar) sidecars_ += amount;
  }
  int64_t Most() const { return std::max(while_starting_, running_); }

 private:
  int64_t sidecars_ = 0;
  int64_t running_ = 0;
  int64_t while_starting_ = 0;
};

// The demand of a pod without resources of its own.
void SumUp(PodDemand& demand) {
  Sum cpus;
  std::map<std::string, Sum> memory;
  for (const ContainerDemand& container : demand.containers) {
    cpus.Add(container, container.cpus);
    if (container.has_odd_memory) demand.pod.has_odd_memory = true;
    if (!container.memory) continue;
    demand.pod.memory.emplace();
    // kubelet forgets resources that no app container requests.
    for (const auto& [name, bytes] : *container.memory) memory[name].Add(container, bytes);
  }
  demand.pod.cpus = cpus.Most();
  if (!demand.pod.memory || demand.pod.has_odd_memory) return;
  for (const ContainerDemand& container : demand.containers) {
    if (container.role != Role::kContainer) continue;
    for (const auto& [name, bytes] : *container.memory) {
      (*demand.pod.memory)[name] = memory[name].Most();
    }
  }
}

// Whether containers that share have room beside those that have `own` for themselves, of `total`.
class PoolCheck {
 public:
  explicit PoolCheck(int64_t total) : total_(total) {}

  // False: an ordinary init container that shares has no room.
  bool Add(const ContainerDemand& container, bool shares, int64_t own) {
    if (container.IsOrdinaryInit()) return !shares || own_ < total_;
    if (shares) is_shared_ = true;
    own_ += own;
    return true;
  }
  bool HasRoom() const { return !is_shared_ || own_ < total_; }

 private:
  const int64_t total_;
  int64_t own_ = 0;
  bool is_shared_ = false;
};

int64_t BytesOf(const Demand& demand, const std::string& resource) {
  const auto it = demand.memory->find(resource);
  return it == demand.memory->end() ? 0 : it->second;
}

}  // namespace

PodDemand DemandOf(const pod::Manifest& pod, bool pod_level) {
  PodDemand demand;
  Containers all;
  for (const pod::ContainerManifest& each : pod.containers) {
    all.push_back({each.role, resources::WithDefaults(each.resources)});
  }
  const resources::Requirements own = pod.resources.value_or(resources::Requirements());
  demand.has_own_resources = HasOwnResources(pod);
  const bool is_guaranteed = resources::PodQosClass(all, own) == resources::QosClass::kGuaranteed &&
                             (pod_level || !demand.has_own_resources);
  for (size_t i = 0; i < all.size(); ++i) {
    const resources::Requirements& requirements = all[i].requirements;
    ContainerDemand container;
    container.name = pod.containers[i].name;
    container.role = all[i].role;
    SetDevices(requirements, container);
    if (is_guaranteed) {
      const bool shares = demand.has_own_resources && !IsGuaranteed(requirements);
      if (!shares) container.cpus = WholeCpus(AmountOf(requirements.requests, "cpu"));
      SetMemory(shares ? resources::ResourceList() : requirements.requests,
                /*without_zeros=*/false, container);
    }
    demand.containers.push_back(std::move(container));
  }
  const resources::Requirements total = resources::PodTotal(all, own, /*overhead=*/{});
  SetDevices(total, demand.pod);
  if (!is_guaranteed) return demand;
  if (!demand.has_own_resources) {
    SumUp(demand);
    return demand;
  }
  // A Guaranteed pod's requests are its own, or the limits that stand for them.
  resources::ResourceList requests = resources::WithDefaults(own).requests;
  demand.pod.cpus = WholeCpus(AmountOf(requests, "cpu"));
  SetMemory(requests, /*without_zeros=*/true, demand.pod);
  return demand;
}

std::string CpuPoolFault(const PodDemand& demand) {
  PoolCheck check(demand.pod.cpus);
  for (const ContainerDemand& container : demand.containers) {
    if (check.Add(container, container.cpus == 0, container.cpus)) continue;
    return "pod rejected, pod has shared init containers but no cpus available for them";
  }
  if (check.HasRoom()) return "";
  return "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus "
         "for shared containers";
}

std::string MemoryPoolFault(const PodDemand& demand) {
  if (!demand.pod.memory) return "";
  for (const auto& [resource, bytes] : *demand.pod.memory) {
    PoolCheck check(bytes);
    for (const ContainerDemand& container : demand.containers) {
      const bool shares = !container.memory || container.memory->empty();
      if (check.Add(container, shares, shares ? 0 : BytesOf(container, resource))) continue;
      return absl::StrCat("pod rejected, pod has shared init containers but no ", resource,
                          " available for them");
    }
    if (check.HasRoom()) continue;
    return absl::StrCat("pod rejected, sum of exclusive container ", resource,
                        " requests equals pod budget, leaving no memory for shared containers");
  }
  return "";
}

}  // namespace plimsoll::agent
