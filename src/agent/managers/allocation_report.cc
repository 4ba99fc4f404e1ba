#include "agent/managers/allocation_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "topology/make_zones.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using resources::CpuSet;

std::string NodeList(NodeMask nodes) {
  CpuSet list;
  for (const uint32_t node : nodes.ToVector()) list.Add(node);
  return list.ToString();
}

CpuSet AllCpus(const topology::MachineMaps& maps) {
  CpuSet all;
  for (const auto& [cpu, place] : maps.cpus) all.Add(cpu);
  return all;
}

CpuSet AllTaken(const std::vector<ReportedPod>& pods) {
  CpuSet taken;
  for (const ReportedPod& pod : pods) taken = taken.Union(pod.grant.ExclusiveCpus());
  return taken;
}

// The CPUs of containers without CPUs of their own.
CpuSet SharedCpus(const AllocationSources& sources, const CpuSet& taken) {
  if (sources.maps == nullptr) return {};
  const CpuSet all = AllCpus(*sources.maps);
  if (!sources.options.static_cpus) return all;
  const CpuSet left = all.Difference(taken);
  const bool is_strict = sources.options.cpu_options.strict_cpu_reservation;
  if (!is_strict || left.IsSubsetOf(sources.reserved)) return left;  // see SharedBeside
  return left.Difference(sources.reserved);
}

Json CpusOf(const AllocationSources& sources, const CpuSet& taken) {
  const CpuSet all = AllCpus(*sources.maps);
  Json cpus = {{"all", all.ToString()},
               {"exclusive", taken.ToString()},
               {"shared", SharedCpus(sources, taken).ToString()}};
  if (sources.options.static_cpus) {
    cpus["reserved"] = sources.reserved.ToString();
    cpus["free"] = all.Difference(sources.reserved).Difference(taken).ToString();
  }
  return cpus;
}

Json PlacesOf(const topology::MachineMaps& maps) {
  Json places = Json::array();
  for (const auto& [cpu, place] : maps.cpus) {
    places.push_back({{"cpu", cpu},
                      {"core", place.core},
                      {"numaNode", place.numa_node},
                      {"package", place.package}});
  }
  return places;
}

// A pod's memory: containers' blocks are part of the pod's own, where it has some.
std::vector<MemoryBlock> BlocksOf(const PodGrant& grant) {
  if (!grant.pod.memory.empty()) return grant.pod.memory;
  std::vector<MemoryBlock> blocks;
  for (const auto& [name, container] : grant.containers) {
    blocks.insert(blocks.end(), container.memory.begin(), container.memory.end());
  }
  return blocks;
}

MemoryByNode UsedMemory(const std::vector<ReportedPod>& pods) {
  MemoryByNode used;
  for (const ReportedPod& pod : pods) {
    for (const MemoryBlock& block : BlocksOf(pod.grant)) {
      for (const auto& [node, bytes] : block.shares) used[node][block.resource] += bytes;
    }
  }
  return used;
}

MemoryAmounts CapacityOf(const topology::NumaNodeMap& node) {
  MemoryAmounts capacity = {{topology::kMemory, node.memory_bytes}};
  for (const auto& [page_bytes, pages] : node.hugepages) {
    capacity[topology::HugepagesName(static_cast<uint64_t>(page_bytes))] = page_bytes * pages;
  }
  return capacity;
}

int64_t AmountAt(const MemoryByNode& amounts, uint32_t node, const std::string& resource) {
  const auto at = amounts.find(node);
  if (at == amounts.end()) return 0;
  const auto of = at->second.find(resource);
  return of == at->second.end() ? 0 : of->second;
}

Json MemoryOf(const AllocationSources& sources, const MemoryByNode& used) {
  Json all = Json::array();
  for (const auto& [number, node] : sources.maps->nodes) {
    Json amounts = Json::object();
    for (const auto& [resource, bytes] : CapacityOf(node)) {
      Json& amount = amounts[resource] = {{"capacity", bytes}};
      if (!sources.options.static_memory) continue;
      amount["allocatable"] = AmountAt(sources.allocatable, number, resource);
      amount["used"] = AmountAt(used, number, resource);
    }
    all.push_back(
        {{"numaNode", number}, {"cpus", node.cpus.ToString()}, {"resources", std::move(amounts)}});
  }
  return all;
}

// Containers of one pod with one device: init containers leave theirs to others.
struct Holder {
  const ReportedPod* pod = nullptr;
  std::vector<std::string> containers;
};
using Holders = std::map<std::string, std::map<std::string, Holder>>;  // by resource and id

Holders HoldersOf(const std::vector<ReportedPod>& pods) {
  Holders holders;
  for (const ReportedPod& pod : pods) {
    for (const auto& [container, claims] : pod.grant.devices) {
      for (const auto& [resource, ids] : claims) {
        for (const std::string& id : ids) {
          Holder& holder = holders[resource][id];
          holder.pod = &pod;
          holder.containers.push_back(container);
        }
      }
    }
  }
  return holders;
}

Json HolderOf(const Holder& holder) {
  return {{"namespace", holder.pod->pod_namespace},
          {"name", holder.pod->name},
          {"containers", holder.containers}};
}

Json DevicesOf(const DeviceStock& stock, const std::vector<ReportedPod>& pods) {
  Holders holders = HoldersOf(pods);
  Json all = Json::object();
  for (const auto& [resource, has] : stock) {
    Json& list = all[resource] = Json::array();
    for (const Device& device : has.devices) {
      Json entry = {{"id", device.id}, {"healthy", device.healthy && has.is_served}};
      if (device.nodes) entry["numaNodes"] = NodeList(*device.nodes);
      const auto holder = holders[resource].find(device.id);
      if (holder != holders[resource].end()) {
        entry["holder"] = HolderOf(holder->second);
        holders[resource].erase(holder);
      }
      list.push_back(std::move(entry));
    }
  }
  for (const auto& [resource, gone] : holders) {
    for (const auto& [id, holder] : gone) {
      all[resource].push_back(
          {{"id", id}, {"healthy", false}, {"present", false}, {"holder", HolderOf(holder)}});
    }
  }
  return all;
}

void AddBlocks(const ContainerGrant& grant, Json& entry) {
  if (grant.memory.empty()) return;
  Json blocks = Json::array();
  for (const MemoryBlock& block : grant.memory) {
    blocks.push_back({{"resource", block.resource},
                      {"numaNodes", NodeList(block.nodes)},
                      {"bytes", block.bytes}});
  }
  entry["memory"] = std::move(blocks);
}

void AddNodes(NodeMask nodes, Json& entry) {
  if (!nodes.Empty()) entry["memoryNodes"] = NodeList(nodes);
}

void AddCpus(const ContainerGrant& grant, const CpuSet& else_on, Json& entry) {
  entry["exclusive"] = !grant.cpus.Empty();
  entry["cpus"] = (grant.cpus.Empty() ? else_on : grant.cpus).ToString();
  if (grant.cpu_count > 0) entry["cpuCount"] = grant.cpu_count;
}

Json PodOf(const ReportedPod& pod, const CpuSet& shared) {
  Json report = {{"namespace", pod.pod_namespace}, {"name", pod.name}, {"uid", pod.uid}};
  report["cpus"] = pod.grant.ExclusiveCpus().ToString();
  if (pod.grant.pod.cpu_count > 0) report["cpuCount"] = pod.grant.pod.cpu_count;
  AddNodes(MemoryNodesOf(pod.grant, ""), report);
  AddBlocks(pod.grant.pod, report);
  Json& containers = report["containers"] = Json::array();
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& name = pod.containers[i].container;
    const auto grant = pod.grant.containers.find(name);
    const ContainerGrant own =
        grant == pod.grant.containers.end() ? ContainerGrant() : grant->second;
    Json entry = {{"name", name}};
    const CpuSet within = CpusInPod(pod.grant, pod.containers, i);
    AddCpus(own, within.Empty() ? shared : within, entry);
    AddNodes(MemoryNodesOf(pod.grant, name), entry);
    AddBlocks(own, entry);
    const auto devices = pod.grant.devices.find(name);
    if (devices != pod.grant.devices.end() && !devices->second.empty()) {
      entry["devices"] = devices->second;
    }
    containers.push_back(std::move(entry));
  }
  return report;
}

}  // namespace

AllocationSources SourcesOf(const NodeManagers& managers) {
  AllocationSources sources{
      .options = managers.options(), .maps = &managers.maps(), .reserved = {}, .allocatable = {}};
  if (managers.cpus() != nullptr) sources.reserved = managers.cpus()->reserved();
  if (managers.memory() != nullptr) sources.allocatable = managers.memory()->allocatable();
  return sources;
}

Json ReportAllocations(const AllocationSources& sources, const DeviceStock& devices,
                       const std::vector<ReportedPod>& pods) {
  const ManagerOptions& options = sources.options;
  const CpuSet taken = AllTaken(pods);
  Json report = {
      {"kind", "Allocations"},
      {"cpuManagerPolicy", options.static_cpus ? "static" : "none"},
      {"memoryManagerPolicy", options.static_memory ? "Static" : "None"},
      {"topologyManagerPolicy", TopologyPolicyName(options.topology.policy)},
      {"topologyManagerScope", options.topology.scope == TopologyScope::kPod ? "pod" : "container"},
      {"devices", DevicesOf(devices, pods)}};
  if (sources.maps != nullptr) {
    report["cpus"] = CpusOf(sources, taken);
    report["cpuPlaces"] = PlacesOf(*sources.maps);
    report["memory"] = MemoryOf(sources, UsedMemory(pods));
  }
  const CpuSet shared = SharedCpus(sources, taken);
  Json& list = report["pods"] = Json::array();
  for (const ReportedPod& pod : pods) list.push_back(PodOf(pod, shared));
  return report;
}

}  // namespace plimsoll::agent
