// For tests: managers of small machines.
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_MANAGERS_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_MANAGERS_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "agent/managers/node_managers.h"
#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

inline constexpr int64_t kTestNodeBytes = int64_t{4} << 30;

// CPUs as listed, each a core of its own, on one package and one NUMA node of 4 GiB.
inline std::shared_ptr<const topology::MachineMaps> MachineOf(const std::string& cpus) {
  auto maps = std::make_shared<topology::MachineMaps>();
  const resources::CpuSet all = *resources::CpuSet::Parse(cpus);
  for (const uint32_t cpu : all.ToVector()) maps->cpus[cpu] = {.core = cpu};
  maps->nodes[0] = {.zone = "numa0",
                    .cpus = all,
                    .memory_bytes = kTestNodeBytes,
                    .hugepages = {},
                    .distances = {{0, 10}}};
  maps->cpu_count = maps->core_count = static_cast<int64_t>(all.Size());
  maps->package_count = maps->cache_group_count = 1;
  maps->memory_bytes = kTestNodeBytes;
  return maps;
}

inline std::shared_ptr<const NodeManagers> ManagersOf(const ManagerOptions& options,
                                                      const std::string& cpus) {
  auto managers = NodeManagers::Make(options, MachineOf(cpus));
  EXPECT_TRUE(managers.ok()) << managers.status();
  return managers.ok() ? *std::move(managers) : nullptr;
}
inline std::shared_ptr<const NodeManagers> NoManagers() {
  return ManagersOf({}, "0-3");
}
// CPU 0 is reserved.
inline std::shared_ptr<const NodeManagers> StaticCpus(const std::string& cpus) {
  ManagerOptions options;
  options.static_cpus = true;
  options.reserved_cpus.cpus = resources::CpuSet::Parse("0").value();
  return ManagersOf(options, cpus);
}
// Half a GiB is reserved.
inline std::shared_ptr<const NodeManagers> StaticMemory() {
  ManagerOptions options;
  options.static_memory = true;
  options.reserved_memory = {{0, {{"memory", kTestNodeBytes / 8}}}};
  options.reserved_memory_sum = {{"memory", kTestNodeBytes / 8}};
  return ManagersOf(options, "0-3");
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_MANAGERS_FOR_TEST_H_
