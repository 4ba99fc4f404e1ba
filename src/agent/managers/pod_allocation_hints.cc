#include <algorithm>
#include <utility>

#include "agent/managers/pod_allocation.h"

namespace plimsoll::agent {

TopologyManager::Decision PodAllocation::Decide(const Demand& demand,
                                                const std::string& container) const {
  return managers_.topology().Decide([&](HintChoice choice) {
    // A list in braces would copy hints, of which there may be 65,535 for each resource.
    std::vector<ResourceHints> hints(3);
    hints[0] = DeviceHintsOf(demand, container, choice);
    hints[1] = CpuHints(demand, container, choice);
    hints[2] = MemoryHints(demand, container, choice);
    return hints;
  });
}

ResourceHints PodAllocation::DeviceHintsOf(const Demand& demand, const std::string& container,
                                           HintChoice choice) const {
  ResourceHints hints;
  for (const auto& [resource, count] : demand.devices) {
    if (!IsDevice(resource)) continue;
    hints[resource] =
        DeviceHints(RequestOf(resource, count, container), managers_.topology().nodes(), choice);
  }
  return hints;
}

ResourceHints PodAllocation::CpuHints(const Demand& demand, const std::string& container,
                                      HintChoice choice) const {
  const StaticCpuPolicy* policy = managers_.cpus();
  if (policy == nullptr || demand.cpus == 0) return {};
  const bool is_pod = container.empty();
  if (is_pod && OwnsResources() && !CpuPoolFault(demand_).empty()) {
    return {{"cpu", std::vector<Hint>()}};
  }
  if (const ContainerGrant* wish = CpuWish(container, demand.cpus)) {
    return {{"cpu", policy->Hints(demand.cpus, wish->cpus, /*reusable=*/{}, choice)}};
  }
  ResourceHints hints;
  hints["cpu"] =
      policy->Hints(demand.cpus, FreeCpus(), is_pod ? resources::CpuSet() : reusable_cpus_, choice);
  return hints;
}

ResourceHints PodAllocation::MemoryHints(const Demand& demand, const std::string& container,
                                         HintChoice choice) const {
  const StaticMemoryPolicy* policy = managers_.memory();
  if (policy == nullptr || !demand.memory || demand.has_odd_memory) return {};
  const bool is_pod = container.empty();
  ResourceHints hints;
  if (is_pod && OwnsResources() && !MemoryPoolFault(demand_).empty()) {
    for (const auto& [resource, bytes] : *demand.memory) hints[resource] = std::vector<Hint>();
    return hints;
  }
  if (demand.memory->empty()) return {};
  if (const std::optional<NodeMask> wish = MemoryWish(container, *demand.memory)) {
    for (const auto& [resource, bytes] : *demand.memory) {
      hints[resource] = std::vector<Hint>{{.nodes = *wish, .preferred = true}};
    }
    return hints;
  }
  return policy->Hints(*demand.memory, UsedMemory(), ReusableMemory(), choice);
}

DeviceRequest PodAllocation::RequestOf(const std::string& resource, int64_t count,
                                       const std::string& container) const {
  DeviceRequest request = {
      .resource = resource, .count = count, .devices = nullptr, .held = {}, .reusable = {}};
  const auto devices = stock_.find(resource);
  if (devices != stock_.end()) request.devices = &devices->second;
  const auto held = held_.devices.find(resource);
  if (held != held_.devices.end()) request.held = held->second;
  for (const auto& [name, of_container] : grant_.devices) {
    const auto ids = of_container.find(resource);
    if (ids != of_container.end()) request.held.insert(ids->second.begin(), ids->second.end());
  }
  const auto reusable = reusable_devices_.find(resource);
  if (reusable != reusable_devices_.end() && !container.empty()) {
    request.reusable = reusable->second;
    for (const std::string& id : request.reusable) request.held.erase(id);
  }
  const DeviceIds wish = DeviceWish(container, request);
  if (wish.empty()) return request;
  for (const Device& device : request.devices->devices) {
    if (!wish.contains(device.id)) request.held.insert(device.id);
  }
  request.reusable.clear();
  return request;
}

bool PodAllocation::IsDevice(const std::string& resource) const {
  return stock_.contains(resource) || held_.devices.contains(resource);
}

resources::CpuSet PodAllocation::FreeCpus() const {
  return managers_.cpus()->exclusive().Difference(held_.cpus).Difference(grant_.ExclusiveCpus());
}

std::vector<MemoryBlock> PodAllocation::UsedMemory() const {
  std::vector<MemoryBlock> used = held_.memory;
  for (MemoryBlock& block : MemoryOf(grant_)) used.push_back(std::move(block));
  return used;
}

std::vector<MemoryBlock*> PodAllocation::EndedMemory() {
  std::vector<MemoryBlock*> ended;
  for (const ContainerDemand& container : demand_.containers) {
    const auto own = grant_.containers.find(container.name);
    if (!container.IsOrdinaryInit() || own == grant_.containers.end()) continue;
    for (MemoryBlock& block : own->second.memory) ended.push_back(&block);
  }
  return ended;
}

std::vector<MemoryBlock> PodAllocation::ReusableMemory() const {
  std::vector<MemoryBlock> reusable;
  for (const ContainerDemand& container : demand_.containers) {
    const auto own = grant_.containers.find(container.name);
    if (!container.IsOrdinaryInit() || own == grant_.containers.end()) continue;
    reusable.insert(reusable.end(), own->second.memory.begin(), own->second.memory.end());
  }
  return reusable;
}

const ContainerGrant* PodAllocation::WishOf(const std::string& container) const {
  if (wish_ == nullptr) return nullptr;
  if (container.empty()) return &wish_->pod;
  const auto it = wish_->containers.find(container);
  return it == wish_->containers.end() ? nullptr : &it->second;
}

const ContainerGrant* PodAllocation::CpuWish(const std::string& container, int64_t count) const {
  const ContainerGrant* wish = WishOf(container);
  if (wish == nullptr || static_cast<int64_t>(wish->cpus.Size()) != count) return nullptr;
  const resources::CpuSet free = FreeCpus().Union(reusable_cpus_);
  return wish->cpus.IsSubsetOf(free) ? wish : nullptr;
}

std::optional<NodeMask> PodAllocation::MemoryWish(const std::string& container,
                                                  const MemoryAmounts& request) const {
  const ContainerGrant* wish = WishOf(container);
  if (wish == nullptr || wish->memory.empty()) return std::nullopt;
  const NodeMask nodes = wish->memory.front().nodes;
  const absl::StatusOr<std::vector<MemoryBlock>> blocks =
      managers_.memory()->Allocate(request, Hint{nodes, true}, UsedMemory(), ReusableMemory());
  if (!blocks.ok() || blocks->empty() || blocks->front().nodes != nodes) return std::nullopt;
  return nodes;
}

DeviceIds PodAllocation::DeviceWish(const std::string& container,
                                    const DeviceRequest& request) const {
  if (wish_ == nullptr || request.devices == nullptr) return {};
  const auto of_container = wish_->devices.find(container);
  if (of_container == wish_->devices.end()) return {};
  const auto ids = of_container->second.find(request.resource);
  if (ids == of_container->second.end()) return {};
  const DeviceIds wish(ids->second.begin(), ids->second.end());
  const auto is_free = [&](const Device& device) {
    return device.healthy && wish.contains(device.id) && !request.held.contains(device.id);
  };
  const std::vector<Device>& devices = request.devices->devices;
  const int64_t free = std::count_if(devices.begin(), devices.end(), is_free);
  return free == request.count && wish.size() == static_cast<size_t>(free) ? wish : DeviceIds();
}

bool PodAllocation::MayBeAt(const resources::CpuSet& cpus, std::optional<NodeMask> nodes) const {
  if (!nodes || managers_.topology().options().policy == TopologyPolicy::kBestEffort) return true;
  const std::vector<uint32_t> all = cpus.ToVector();
  return std::all_of(all.begin(), all.end(), [&](uint32_t cpu) {
    const auto place = managers_.maps().cpus.find(cpu);
    return place != managers_.maps().cpus.end() && nodes->Contains(place->second.numa_node);
  });
}

}  // namespace plimsoll::agent
