// For benchmarks of the agent's managers: a node of 512 CPUs and 1 TiB of memory.
#ifndef PLIMSOLL_BENCH_BIG_NODE_H_
#define PLIMSOLL_BENCH_BIG_NODE_H_

#include <cstdint>

#include "topology/zones/maps.h"

namespace plimsoll::bench {

inline constexpr uint32_t kCores = 256;
inline constexpr uint32_t kPackages = 2;
inline constexpr int64_t kGi = int64_t{1} << 30;
inline constexpr int64_t kMemoryBytes = 1024 * kGi;

// Two packages of as many NUMA nodes; two threads a core.
inline topology::MachineMaps Machine(uint32_t nodes) {
  topology::MachineMaps maps;
  for (uint32_t cpu = 0; cpu < 2 * kCores; ++cpu) {
    const uint32_t core = cpu % kCores;
    const uint32_t node = core / (kCores / nodes);
    maps.cpus[cpu] = {.core = core,
                      .package = node / (nodes / kPackages),
                      .numa_node = node,
                      .cache_group = core / 8 * 8};
    maps.nodes[node].cpus.Add(cpu);
  }
  for (auto& [number, node] : maps.nodes) {
    node.memory_bytes = kMemoryBytes / nodes;
    for (uint32_t other = 0; other < nodes; ++other) {
      node.distances[other] = other == number ? 10 : 20;
    }
  }
  maps.cpu_count = 2 * kCores;
  maps.core_count = kCores;
  maps.package_count = kPackages;
  maps.cache_group_count = kCores / 8;
  maps.memory_bytes = kMemoryBytes;
  return maps;
}

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_BIG_NODE_H_
