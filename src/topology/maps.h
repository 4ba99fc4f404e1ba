// A topology as kubelet's CPU manager, memory manager and topology manager need it: where each CPU
// is, and what each NUMA node has (KEP-5224 "kubelet"; what cAdvisor's MachineInfo was for).
//
// Topologies of others are read generously: types in any case, "socket" for Package, "numa" and
// "node" for NUMANode, "cache" for CacheGroup; levels may be missing, CPUs be beside their NUMA
// node instead of in it (its cpu-ids then say which they are), capacities be bare numbers,
// attributes be anywhere.
//
// A CPU is one node's, also where several beside it name it, as the memories of different kinds
// next to it may: it is that node's which names the fewest, and of these the one with the lowest
// number, which is mostly the ordinary memory's. Packages and cache groups are chosen alike.
#ifndef PLIMSOLL_TOPOLOGY_MAPS_H_
#define PLIMSOLL_TOPOLOGY_MAPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resources/cpu_set.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {

struct CpuPlace {
  // The lowest CPU of its core: unique on the machine, which the kernel's core_id isn't. A CPU in
  // no core is one.
  uint32_t core = 0;
  // Its package's number (NumberOf), or where those are no use, its place among the packages. 0
  // where there are none.
  uint32_t package = 0;
  uint32_t numa_node = 0;  // the kernel's number
  // The lowest CPU that shares its last-level ("uncore") cache. Those of a NUMA node in no cache
  // group share one.
  uint32_t cache_group = 0;
  bool operator==(const CpuPlace&) const = default;
};

struct NumaNodeMap {
  std::string zone;  // empty: the topology has no NUMA nodes, this is all of it
  resources::CpuSet cpus;
  int64_t memory_bytes = 0;
  std::map<int64_t, int64_t> hugepages;    // page size in bytes -> how many
  std::map<uint32_t, uint32_t> distances;  // node -> cost; 10 to itself where nothing is told
};

struct MachineMaps {
  std::map<uint32_t, CpuPlace> cpus;
  std::map<uint32_t, NumaNodeMap> nodes;

  // Counts of the machine; CPUs without numbers are in cpu_count and core_count only.
  int64_t cpu_count = 0;
  int64_t core_count = 0;
  int64_t package_count = 0;
  int64_t cache_group_count = 0;

  // Sums over all zones, also of what is in no NUMA node.
  int64_t memory_bytes = 0;
  std::map<int64_t, int64_t> hugepages;
  std::optional<int64_t> swap_bytes;

  std::string machine_id, boot_id, system_uuid;  // empty: not told

  // The first zone with CPUs and without their numbers.
  std::optional<std::string> zone_without_cpu_ids;
};

// INVALID_ARGUMENT names the zone: a NUMA node without a number (NumberOf), or with another's;
// cpu-ids and `cpu` that contradict each other; CPUs of which it can't be told which NUMA node or
// package they are in; huge pages of no size, or no whole number of them.
absl::StatusOr<MachineMaps> MakeMaps(const ZoneTree& tree);

// A static CPU policy needs the numbers of all CPUs. FAILED_PRECONDITION names the zone that lacks
// them.
absl::Status CheckCpuIds(const MachineMaps& maps);

// CPUs with the same core, package, NUMA node or cache group:
//   CpusWith(maps, &CpuPlace::package, 1)
resources::CpuSet CpusWith(const MachineMaps& maps, uint32_t CpuPlace::*level, uint32_t id);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MAPS_H_
