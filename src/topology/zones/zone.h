// A node's resources as a tree of zones (KEP-5224 "CRI API").
//
//   root                      Machine
//   `- package-0              Package
//      `- numa-0              NUMANode    memory 16Gi, hugepages-2Mi 0
//         `- cache-0-0        CacheGroup
//            |- core-0-0      Core        cpu 2, cpu-ids 0,4
//            `- core-0-1      Core        cpu 2, cpu-ids 1,5
//
// A zone's resources exclude its children's: the node's capacity is the sum over all zones. Plain
// values; readers of a foreign topology make a ZoneTree of it first (zone_tree.h).
#ifndef PLIMSOLL_TOPOLOGY_ZONES_ZONE_H_
#define PLIMSOLL_TOPOLOGY_ZONES_ZONE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resources/quantity.h"

namespace plimsoll::topology {

// Types that kubelet knows, and the root's. Others pass through.
inline constexpr char kMachine[] = "Machine";
inline constexpr char kPackage[] = "Package";
inline constexpr char kNumaNode[] = "NUMANode";
inline constexpr char kCacheGroup[] = "CacheGroup";
inline constexpr char kCore[] = "Core";

inline constexpr char kRootName[] = "root";

// Attributes that kubelet knows (KEP-5224).
//
// CPUs in the kernel's list format. A core, and a zone with resource "cpu", has these CPUs; any
// other zone is only near to them (e.g. a NUMANode beside its cores).
inline constexpr char kCpuIds[] = "cpu-ids";
inline constexpr char kMachineId[] = "machine-id";
inline constexpr char kBootId[] = "boot-id";
inline constexpr char kSystemUuid[] = "system-uuid";
// A NUMA node's or package's number, for clients that don't take it from the name.
inline constexpr char kId[] = "id";

// Resources. Huge pages are "hugepages-2Mi" and so on, counted in bytes.
inline constexpr char kCpu[] = "cpu";
inline constexpr char kMemory[] = "memory";
inline constexpr char kSwap[] = "swap";
inline constexpr char kHugepagesPrefix[] = "hugepages-";

// The distance to another zone, as in the firmware's SLIT: 10 is local.
struct Cost {
  std::string name;  // of the other zone
  uint32_t value = 0;
  bool operator==(const Cost&) const = default;
};

struct ZoneResource {
  std::string name;
  resources::Quantity capacity;
  bool operator==(const ZoneResource&) const = default;
};

struct Zone {
  std::string name;  // unique in its topology
  std::string type;
  std::string parent;  // empty or "root": directly below the machine
  std::vector<Cost> costs;
  std::map<std::string, std::string> attributes;
  std::vector<ZoneResource> resources;
  bool operator==(const Zone&) const = default;
};

struct Topology {
  std::vector<Zone> zones;  // parents before their children
  bool operator==(const Topology&) const = default;
};

// True when a zone is of one of the types above. Reads foreign topologies generously: any case,
// "socket" for Package, "numa" and "node" for NUMANode, "cache" for CacheGroup.
bool IsOfType(const Zone& zone, absl::string_view type);

// 3 for "numa-3"; nullopt for a name that ends in no number.
std::optional<uint32_t> NumberAtEnd(absl::string_view name);
// A NUMA node's or package's number: its attribute "id", else the number that ends its name.
std::optional<uint32_t> NumberOf(const Zone& zone);

// Null when the zone lacks the resource.
const resources::Quantity* FindResource(const Zone& zone, const std::string& name);

// The node's capacity: the sum over all zones, by resource.
std::map<std::string, resources::Quantity> Capacity(const Topology& topology);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_ZONES_ZONE_H_
