// The CPUs that are free while some are being taken, and the orders in which kubelet looks at them.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_FREE_CPUS_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_FREE_CPUS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/cpu_manager/cpu_layout.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// CPUs and groups are indices of the layout, which must outlive this.
class FreeCpus {
 public:
  // Ignores CPUs that the machine lacks.
  FreeCpus(const CpuLayout& layout, const resources::CpuSet& cpus);

  bool Contains(uint32_t cpu) const { return free_[cpu]; }
  size_t Size() const { return size_; }
  size_t CountIn(CpuLevel level, uint32_t group) const { return At(level)[group]; }
  // All CPUs of the group are free.
  bool IsWhole(CpuLevel level, uint32_t group) const {
    return CountIn(level, group) == layout_.Members(level, group).size();
  }
  // Free CPUs of the group, ascending.
  std::vector<uint32_t> CpusIn(CpuLevel level, uint32_t group) const;
  resources::CpuSet CpuSetIn(CpuLevel level, uint32_t group) const;
  void Remove(uint32_t cpu);

  // Groups with free CPUs: first those with the fewest, of equals the lowest.
  std::vector<uint32_t> SortedNodes() const;
  std::vector<uint32_t> SortedPackages() const;
  std::vector<uint32_t> SortedCores() const;
  std::vector<uint32_t> SortedCaches() const;  // node by node

 private:
  std::vector<uint32_t> Sorted(CpuLevel level) const;
  // The groups of `level` that have free CPUs in those of `outer`, sorted within each. A group that
  // lies in several of them comes several times.
  std::vector<uint32_t> SortedWithin(CpuLevel outer, const std::vector<uint32_t>& outer_groups,
                                     CpuLevel level) const;
  void Sort(CpuLevel level, std::vector<uint32_t>& groups) const;
  const std::vector<size_t>& At(CpuLevel level) const {
    return counts_[static_cast<size_t>(level)];
  }

  const CpuLayout& layout_;
  std::vector<bool> free_;  // by CPU
  size_t size_ = 0;
  std::array<std::vector<size_t>, 4> counts_;  // by level and group
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_FREE_CPUS_H_
