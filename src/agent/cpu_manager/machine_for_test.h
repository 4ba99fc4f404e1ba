// Machines of many shapes, with CPUs numbered as Linux and firmware number them.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_MACHINE_FOR_TEST_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_MACHINE_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

inline resources::CpuSet Cpus(absl::string_view list) {
  const auto cpus = resources::CpuSet::Parse(list);
  EXPECT_TRUE(cpus.ok()) << cpus.status();
  return cpus.ok() ? *cpus : resources::CpuSet();
}

struct MachineShape {
  uint32_t packages = 1;
  uint32_t nodes_per_package = 1;  // several: sub-NUMA clusters
  uint32_t packages_per_node = 1;  // several: packages that share a node
  uint32_t caches_per_node = 1;    // several: core complexes with a cache each
  uint32_t cores_per_cache = 1;
  uint32_t threads = 1;
  // Further cores with one thread each, in a cache of their own per node.
  uint32_t single_thread_cores = 0;
  enum class Numbering {
    // First threads of all cores, then the second ones: 0-3 and 4-7. Usual on x86.
    kThreadsLast,
    // Threads of a core beside each other: 0-1, 2-3. Usual on POWER and for hybrid cores.
    kThreadsTogether,
    // Like kThreadsLast, but packages take turns: 0, 2, 4 in the first. Firmware of some makers.
    kPackagesInTurn,
  } numbering = Numbering::kThreadsLast;
  resources::CpuSet offline;
};

class MachineMaker {
 public:
  explicit MachineMaker(const MachineShape& shape) : shape_(shape) {}

  std::shared_ptr<const topology::MachineMaps> Make() {
    for (uint32_t thread = 0; thread < Passes(); ++thread) {
      if (shape_.numbering == MachineShape::Numbering::kPackagesInTurn) {
        for (uint32_t core = 0; core < CoresPerPackage(); ++core) {
          for (uint32_t package = 0; package < shape_.packages; ++package) {
            AddCore(package, core, thread);
          }
        }
        continue;
      }
      for (uint32_t package = 0; package < shape_.packages; ++package) {
        for (uint32_t core = 0; core < CoresPerPackage(); ++core) AddCore(package, core, thread);
      }
    }
    CountAll();
    return std::make_shared<const topology::MachineMaps>(std::move(maps_));
  }

 private:
  bool Together() const { return shape_.numbering == MachineShape::Numbering::kThreadsTogether; }
  uint32_t Passes() const { return Together() ? 1 : shape_.threads; }
  uint32_t CoresPerNode() const {
    return shape_.caches_per_node * shape_.cores_per_cache + shape_.single_thread_cores;
  }
  uint32_t CoresPerPackage() const { return CoresPerNode() * shape_.nodes_per_package; }

  // The threads of one core that come next.
  void AddCore(uint32_t package, uint32_t core, uint32_t thread) {
    const uint32_t in_node = core % CoresPerNode();
    const uint32_t cache = in_node / shape_.cores_per_cache;
    const bool single = cache >= shape_.caches_per_node;
    if (single && thread > 0) return;
    const uint32_t node =
        package / shape_.packages_per_node * shape_.nodes_per_package + core / CoresPerNode();
    const uint32_t threads = Together() && !single ? shape_.threads : 1;
    for (uint32_t i = 0; i < threads; ++i) {
      const uint32_t cpu = next_++;
      if (shape_.offline.Contains(cpu)) continue;
      // The first CPU that comes is the lowest.
      const uint32_t lowest = first_of_core_.emplace(std::pair(package, core), cpu).first->second;
      const uint32_t group = single ? shape_.caches_per_node : cache;
      const uint32_t cache_first =
          first_of_cache_.emplace(std::pair(package * 1000 + core / CoresPerNode(), group), cpu)
              .first->second;
      maps_.cpus[cpu] = {
          .core = lowest, .package = package, .numa_node = node, .cache_group = cache_first};
      maps_.nodes[node].cpus.Add(cpu);
    }
  }

  void CountAll() {
    maps_.cpu_count = static_cast<int64_t>(maps_.cpus.size());
    maps_.core_count = static_cast<int64_t>(first_of_core_.size());
    maps_.package_count = shape_.packages;
    maps_.cache_group_count = static_cast<int64_t>(first_of_cache_.size());
  }

  const MachineShape shape_;
  uint32_t next_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first_of_core_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first_of_cache_;
  topology::MachineMaps maps_;
};

inline std::shared_ptr<const topology::MachineMaps> MakeMachine(const MachineShape& shape) {
  return MachineMaker(shape).Make();
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_MACHINE_FOR_TEST_H_
