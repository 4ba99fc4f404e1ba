// For tests: reports of nodes of several shapes.
#ifndef PLIMSOLL_KUBE_PUBLISH_REPORTS_FOR_TEST_H_
#define PLIMSOLL_KUBE_PUBLISH_REPORTS_FOR_TEST_H_

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "kube/link/runtime_link.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"

namespace plimsoll::kube {

// The zones of a machine in hwloc's synthetic notation.
inline topology::Topology TopologyOf(const std::string& synthetic) {
  auto machine = topology::ReadHwlocSynthetic(synthetic);
  EXPECT_TRUE(machine.ok()) << machine.status();
  return machine.ok() ? topology::MakeZones(*machine) : topology::Topology();
}

// Two packages of a NUMA node each, of 1 GiB and four CPUs in two cores.
inline constexpr char kTwoPackages[] = "pack:2 numa:1(memory=1073741824) core:2 pu:2";
// SNC: two packages of two NUMA nodes each.
inline constexpr char kSnc[] = "pack:2 numa:2(memory=1073741824) core:2 pu:1";
// CCX: one NUMA node with two caches of two cores each.
inline constexpr char kCcx[] = "pack:1 numa:1(memory=2147483648) l3:2(size=16MB) core:2 pu:1";

inline NodeReport ReportOf(topology::Topology topology) {
  NodeReport report;
  report.runtime_version = "0.1.0";
  report.topology = std::move(topology);
  report.topology_edition = 1;
  return report;
}

// Type rdt with the classes gold and bronze, the default.
inline NodeClassType RdtType() {
  return {.name = "rdt",
          .level = qos::Level::kContainer,
          .immutable = false,
          .default_class = "bronze",
          .classes =
              {{.name = "gold", .capacity = 2, .holders = 1, .meaning = "L3 0=0xff0", .drift = {}},
               {.name = "bronze", .capacity = 0, .holders = 3, .meaning = "L3 0=0xf", .drift = {}}},
          .unavailable = ""};
}

inline topology::Zone ZoneOf(const std::string& name, const std::string& type,
                             const std::string& parent, const std::string& cpus = "",
                             const std::string& memory = "") {
  topology::Zone zone{
      .name = name, .type = type, .parent = parent, .costs = {}, .attributes = {}, .resources = {}};
  if (!cpus.empty()) {
    zone.attributes[topology::kCpuIds] = cpus;
    const auto set = resources::CpuSet::Parse(cpus);
    EXPECT_TRUE(set.ok()) << set.status();
    zone.resources.push_back(
        {topology::kCpu, resources::Quantity::FromInt(static_cast<int64_t>(set->Size()))});
  }
  if (!memory.empty()) {
    zone.resources.push_back({topology::kMemory, *resources::Quantity::Parse(memory)});
  }
  return zone;
}

// A hybrid machine with memory without CPUs (CXL) beside its own.
inline topology::Topology HybridWithCxl() {
  topology::Topology topology;
  topology.zones = {ZoneOf("root", topology::kMachine, ""),
                    ZoneOf("package-0", topology::kPackage, "root"),
                    ZoneOf("numa-0", topology::kNumaNode, "package-0", "", "16Gi"),
                    ZoneOf("core-0-0", topology::kCore, "numa-0", "0-1"),
                    ZoneOf("core-0-1", topology::kCore, "numa-0", "2"),
                    ZoneOf("core-0-2", topology::kCore, "numa-0", "3"),
                    ZoneOf("numa-1", topology::kNumaNode, "root", "", "32Gi")};
  topology.zones[2].costs = {{"numa-0", 10}, {"numa-1", 17}};
  topology.zones[6].costs = {{"numa-0", 17}, {"numa-1", 10}};
  topology.zones[3].attributes["core-type"] = "performance";
  topology.zones[4].attributes["core-type"] = "efficiency";
  topology.zones[5].attributes["core-type"] = "efficiency";
  return topology;
}

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_REPORTS_FOR_TEST_H_
