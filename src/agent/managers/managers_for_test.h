// Machines and pods for tests of the managers.
#ifndef PLIMSOLL_AGENT_MANAGERS_MANAGERS_FOR_TEST_H_
#define PLIMSOLL_AGENT_MANAGERS_MANAGERS_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

inline constexpr int64_t kGi = int64_t{1} << 30;

// CPUs are numbered as Linux does: first threads of all cores, then second ones. A package has
// `nodes` NUMA nodes, each with a cache, `cores` cores and 16 GiB, of which `pages` huge pages of
// 2 MiB each.
struct MachineForTest {
  uint32_t packages = 1;
  uint32_t nodes = 2;
  uint32_t cores = 4;
  uint32_t threads = 2;
  int64_t pages = 0;
  int64_t node_bytes = 16 * kGi;
};
inline topology::MachineMaps MapsOf(const MachineForTest& machine) {
  topology::MachineMaps maps;
  const uint32_t all_cores = machine.packages * machine.nodes * machine.cores;
  const uint32_t all_nodes = machine.packages * machine.nodes;
  for (uint32_t core = 0; core < all_cores; ++core) {
    const uint32_t node = core / machine.cores;
    for (uint32_t thread = 0; thread < machine.threads; ++thread) {
      const uint32_t cpu = core + thread * all_cores;
      maps.cpus[cpu] = {.core = core,
                        .package = node / machine.nodes,
                        .numa_node = node,
                        .cache_group = node * machine.cores};
      maps.nodes[node].cpus.Add(cpu);
    }
  }
  for (auto& [number, node] : maps.nodes) {
    node.zone = "node" + std::to_string(number);
    node.memory_bytes = machine.node_bytes;
    if (machine.pages > 0) node.hugepages[2 << 20] = machine.pages;
    for (uint32_t other = 0; other < all_nodes; ++other) {
      node.distances[other] = other == number ? 10 : 20;
    }
    maps.memory_bytes += node.memory_bytes;
  }
  maps.cpu_count = static_cast<int64_t>(maps.cpus.size());
  maps.core_count = all_cores;
  maps.package_count = machine.packages;
  maps.cache_group_count = all_nodes;
  return maps;
}

inline topology::MachineMaps Without(topology::MachineMaps maps, const resources::CpuSet& cpus) {
  for (const uint32_t cpu : cpus.ToVector()) {
    maps.nodes[maps.cpus[cpu].numa_node].cpus.Remove(cpu);
    maps.cpus.erase(cpu);
    --maps.cpu_count;
  }
  return maps;
}

inline resources::CpuSet CpusOfText(absl::string_view text) {
  return *resources::CpuSet::Parse(text);
}

// Static policies; CPU 0 and 1 GiB of node 0 are reserved.
inline ManagerOptions StaticOptions() {
  ManagerOptions options;
  options.static_cpus = true;
  options.reserved_cpus = {.cpus = CpusOfText("0"), .milli = 1000};
  options.static_memory = true;
  options.reserved_memory = {{0, {{"memory", kGi}}}};
  options.reserved_memory_sum = {{"memory", kGi}};
  return options;
}

inline std::shared_ptr<const NodeManagers> ManagersOf(const ManagerOptions& options,
                                                      const topology::MachineMaps& maps) {
  auto managers = NodeManagers::Make(options, std::make_shared<const topology::MachineMaps>(maps));
  EXPECT_TRUE(managers.ok()) << managers.status();
  return managers.ok() ? *std::move(managers) : nullptr;
}

// Requests that are limits.
using AmountsForTest = std::map<std::string, std::string>;

inline resources::Requirements RequirementsOf(const AmountsForTest& amounts) {
  resources::Requirements requirements;
  for (const auto& [name, text] : amounts) {
    requirements.requests[name] = *resources::Quantity::Parse(text);
  }
  requirements.limits = requirements.requests;
  return requirements;
}

inline pod::ContainerManifest ContainerOf(const std::string& name, const AmountsForTest& amounts,
                                          resources::ContainerRequirements::Role role =
                                              resources::ContainerRequirements::Role::kContainer) {
  pod::ContainerManifest container;
  container.name = name;
  container.role = role;
  container.resources = RequirementsOf(amounts);
  return container;
}
inline pod::ContainerManifest InitOf(const std::string& name, const AmountsForTest& amounts) {
  return ContainerOf(name, amounts, resources::ContainerRequirements::Role::kInit);
}
inline pod::ContainerManifest SidecarOf(const std::string& name, const AmountsForTest& amounts) {
  return ContainerOf(name, amounts, resources::ContainerRequirements::Role::kSidecar);
}

inline pod::Manifest PodOf(std::vector<pod::ContainerManifest> containers) {
  pod::Manifest pod;
  pod.name = "pod";
  pod.containers = std::move(containers);
  return pod;
}
// With resources of its own.
inline pod::Manifest PodOf(const AmountsForTest& own,
                           std::vector<pod::ContainerManifest> containers) {
  pod::Manifest pod = PodOf(std::move(containers));
  pod.resources = RequirementsOf(own);
  return pod;
}
// One container "main" of a Guaranteed pod.
inline pod::Manifest PodOfCpus(const std::string& cpus, const std::string& memory = "1Gi") {
  return PodOf({ContainerOf("main", {{"cpu", cpus}, {"memory", memory}})});
}

inline std::string CpusIn(const PodGrant& grant, const std::string& container) {
  const auto it = grant.containers.find(container);
  return it == grant.containers.end() ? "" : it->second.cpus.ToString();
}

// "memory=1073741824@0".
inline std::string MemoryIn(const ContainerGrant& grant) {
  std::string text;
  for (const MemoryBlock& block : grant.memory) {
    if (!text.empty()) text += " ";
    text += block.resource + "=" + std::to_string(block.bytes) + "@";
    for (const uint32_t node : block.nodes.ToVector()) text += std::to_string(node);
  }
  return text;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_MANAGERS_FOR_TEST_H_
