// For tests: machines with the topologies that plimsolld reports of them.
#ifndef PLIMSOLL_KUBELET_CONFIG_MACHINES_FOR_TEST_H_
#define PLIMSOLL_KUBELET_CONFIG_MACHINES_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kubelet/config/node_share.h"

namespace plimsoll::kubelet {

inline constexpr uint64_t kMi = 1 << 20;
inline constexpr uint64_t kGi = 1 << 30;

inline resources::CpuSet Cpus(const std::string& list) {
  return *resources::CpuSet::Parse(list);
}

// A NUMA node of a machine: CPUs, memory, and 2 MiB pages.
inline topology::NumaNode NodeOf(uint32_t id, const std::string& cpus, uint64_t bytes,
                                 uint64_t pages = 0) {
  topology::NumaNode node{.id = id, .cpus = Cpus(cpus), .memory_bytes = bytes};
  if (pages > 0) node.hugepages[2 * kMi] = pages;
  return node;
}

inline topology::Machine MachineOf(const std::vector<topology::NumaNode>& nodes) {
  topology::Machine machine;
  machine.nodes = nodes;
  for (const topology::NumaNode& node : nodes) machine.cpus = machine.cpus.Union(node.cpus);
  return machine;
}

// The zone of a NUMA node with the CPUs in it, as reported.
inline topology::Zone ZoneOf(uint32_t id, const std::string& cpus,
                             const std::map<std::string, std::string>& resources) {
  topology::Zone zone{.name = absl::StrCat("numa-", id), .type = topology::kNumaNode};
  const size_t count = Cpus(cpus).Size();
  if (count > 0) {
    zone.attributes[topology::kCpuIds] = cpus;
    zone.resources.push_back(
        {topology::kCpu, resources::Quantity::FromInt(static_cast<int64_t>(count))});
  }
  for (const auto& [name, amount] : resources) {
    zone.resources.push_back({name, *resources::Quantity::Parse(amount)});
  }
  return zone;
}

inline KubeletShare ShareOfZones(const std::vector<topology::Zone>& zones,
                                 const topology::Machine& machine) {
  const auto share = ShareOf({zones}, machine, machine.cpus);
  EXPECT_TRUE(share.ok()) << share.status();
  return share.value_or(KubeletShare());
}

// Eight CPUs and 16 GiB, of which pods have CPUs 2-7 and 12 GiB.
inline KubeletShare SmallShare() {
  return ShareOfZones({ZoneOf(0, "2-7", {{"memory", "12Gi"}})},
                      MachineOf({NodeOf(0, "0-7", 16 * kGi)}));
}

// Two nodes of four CPUs and 8 GiB, of which pods have all of node 1 and 75% of node 0 with CPUs
// 1-3. Each has 512 pages of 2 MiB, node 0's are not pods'.
inline KubeletShare TwoNodesShare() {
  return ShareOfZones({ZoneOf(0, "1-3", {{"memory", "6Gi"}, {"hugepages-2Mi", "0"}}),
                       ZoneOf(1, "4-7", {{"memory", "8Gi"}, {"hugepages-2Mi", "1Gi"}})},
                      MachineOf({NodeOf(0, "0-3", 8 * kGi, 512), NodeOf(1, "4-7", 8 * kGi, 512)}));
}

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_MACHINES_FOR_TEST_H_
