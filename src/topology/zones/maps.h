// A topology as kubelet's CPU manager, memory manager and topology manager need it: the place of
// each CPU, and the resources of each NUMA node (KEP-5224 "kubelet"; in place of cAdvisor's
// MachineInfo).
//
// Foreign topologies are read generously: types in any case, "socket" for Package, "numa" and
// "node" for NUMANode, "cache" for CacheGroup; levels may be missing, CPUs be beside their NUMA
// node instead of in it (the node's cpu-ids then name them), capacities be bare numbers, attributes
// be anywhere.
//
// Several nodes beside a CPU may name it, e.g. memories of different kinds. It then belongs to the
// node that names the fewest CPUs, and of these to the one with the lowest number, which is mostly
// the ordinary memory's. Packages and cache groups are chosen alike.
#ifndef PLIMSOLL_TOPOLOGY_ZONES_MAPS_H_
#define PLIMSOLL_TOPOLOGY_ZONES_MAPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resources/cpu_set.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

struct CpuPlace {
  // The lowest CPU of its core: unique on the machine, unlike the kernel's core_id. A CPU in no
  // core is its own.
  uint32_t core = 0;
  // The number of the core's package (NumberOf). If any package lacks one or two share one, its
  // index among the packages; 0 if there are none.
  uint32_t package = 0;
  uint32_t numa_node = 0;  // the kernel's number
  // The lowest CPU that shares its last-level ("uncore") cache. CPUs of a NUMA node in no cache
  // group share one.
  uint32_t cache_group = 0;
  bool operator==(const CpuPlace&) const = default;
};

struct NumaNodeMap {
  std::string zone;  // empty: no NUMA nodes in the topology, so this is all of it
  resources::CpuSet cpus;
  int64_t memory_bytes = 0;
  std::map<int64_t, int64_t> hugepages;    // page size in bytes -> number of pages
  std::map<uint32_t, uint32_t> distances;  // node -> cost; 10 to itself where there are none
  bool operator==(const NumaNodeMap&) const = default;
};

struct MachineMaps {
  std::map<uint32_t, CpuPlace> cpus;
  std::map<uint32_t, NumaNodeMap> nodes;

  // Counts for the machine; CPUs without numbers count in cpu_count and core_count only, where
  // parts of CPUs are added before they are cut off.
  int64_t cpu_count = 0;
  int64_t core_count = 0;
  int64_t package_count = 0;
  int64_t cache_group_count = 0;

  // Sums over all zones, including those in no NUMA node.
  int64_t memory_bytes = 0;
  std::map<int64_t, int64_t> hugepages;
  std::optional<int64_t> swap_bytes;

  std::string machine_id, boot_id, system_uuid;  // empty: unknown

  // The first zone with CPUs and without their numbers.
  std::optional<std::string> zone_without_cpu_ids;
  bool operator==(const MachineMaps&) const = default;
};

// INVALID_ARGUMENT names the zone: a NUMA node without a number (NumberOf), or with another's;
// cpu-ids and `cpu` that contradict each other; CPUs whose NUMA node or package is unclear; huge
// pages without a size, or no whole number of them. The status is the first fault; `faults`, if
// given, gets all of them, but at most ZoneTree::kMaxFaults sentences.
absl::StatusOr<MachineMaps> MakeMaps(const ZoneTree& tree,
                                     std::vector<std::string>* faults = nullptr);

// For a static CPU policy, which needs the numbers of all CPUs: FAILED_PRECONDITION names a zone
// without them.
absl::Status CheckCpuIds(const MachineMaps& maps);

// INVALID_ARGUMENT if there is no whole CPU or no memory at all: of that no node can be made.
absl::Status CheckAmounts(const MachineMaps& maps);

// CPUs with the same core, package, NUMA node or cache group:
//   CpusWith(maps, &CpuPlace::package, 1)
resources::CpuSet CpusWith(const MachineMaps& maps, uint32_t CpuPlace::*level, uint32_t id);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_ZONES_MAPS_H_
