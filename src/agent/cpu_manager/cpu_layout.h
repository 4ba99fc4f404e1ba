// The machine as kubelet's CPU manager counts it: CPUs in cores, caches, NUMA nodes and packages.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_CPU_LAYOUT_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_CPU_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// kCache is kubelet's "uncore cache".
enum class CpuLevel { kCore, kCache, kNode, kPackage };

// Immutable. CPUs are known by their index among the machine's CPUs, groups by their index among
// those of their level. Both indices ascend with the numbers, so that they sort alike: groups by
// core (its lowest CPU), NUMA node and package number. Only groups with CPUs count. Caches are
// sorted by package and lowest CPU. kubelet sorts them by the kernel's numbers of them, which x86
// derives from the APIC ids: that is the same, except where a cache's lowest CPU is offline.
//
// A cache that all CPUs of a NUMA node share, and no others, says nothing that the node doesn't.
// There kubelet takes the package in its place (cAdvisor's addCacheInfo gives such a node no uncore
// caches); so does this.
class CpuLayout {
 public:
  explicit CpuLayout(const topology::MachineMaps& maps);

  const resources::CpuSet& cpus() const { return cpus_; }
  size_t cpu_count() const { return numbers_.size(); }
  uint32_t NumberOf(uint32_t cpu) const { return numbers_[cpu]; }
  // nullopt: the machine has no such CPU.
  std::optional<uint32_t> IndexOf(uint32_t number) const;

  size_t GroupCount(CpuLevel level) const { return At(level).members.size(); }
  uint32_t GroupOf(CpuLevel level, uint32_t cpu) const { return At(level).of[cpu]; }
  // CPUs of the group, ascending.
  const std::vector<uint32_t>& Members(CpuLevel level, uint32_t group) const {
    return At(level).members[group];
  }
  // The kernel's number of a NUMA node.
  uint32_t NodeNumber(uint32_t node) const { return node_numbers_[node]; }

  // kubelet's CPUsPerCore, CPUsPerSocket and CPUsPerUncore: an average, rounded down. A machine
  // without CPUs has 0.
  size_t CpusPer(CpuLevel level) const {
    return GroupCount(level) == 0 ? 0 : cpu_count() / GroupCount(level);
  }
  // True where a NUMA node is as large as a package or larger: CPUs are then taken by node first,
  // and by package within it (kubelet's "NUMA first").
  bool nodes_above_packages() const {
    return GroupCount(CpuLevel::kPackage) >= GroupCount(CpuLevel::kNode);
  }

 private:
  struct Groups {
    std::vector<uint32_t> of;                    // group, by CPU
    std::vector<std::vector<uint32_t>> members;  // CPUs, by group
  };
  const Groups& At(CpuLevel level) const { return levels_[static_cast<size_t>(level)]; }
  // `keys` are by CPU. Returns the keys, by group.
  std::vector<uint64_t> Group(CpuLevel level, const std::vector<uint64_t>& keys);
  std::vector<uint64_t> CacheKeys(const topology::MachineMaps& maps) const;

  resources::CpuSet cpus_;
  std::vector<uint32_t> numbers_;  // ascending
  std::vector<uint32_t> node_numbers_;
  std::array<Groups, 4> levels_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_CPU_LAYOUT_H_
