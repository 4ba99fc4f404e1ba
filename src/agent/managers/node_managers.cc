#include "agent/managers/node_managers.h"

#include <utility>

#include "base/status.h"

namespace plimsoll::agent {

NodeManagers::NodeManagers(ManagerOptions options,
                           std::shared_ptr<const topology::MachineMaps> maps)
    : options_(std::move(options)), maps_(std::move(maps)) {}

absl::StatusOr<std::shared_ptr<const NodeManagers>> NodeManagers::Make(
    const ManagerOptions& options, std::shared_ptr<const topology::MachineMaps> maps) {
  std::shared_ptr<NodeManagers> managers(new NodeManagers(options, std::move(maps)));
  absl::StatusOr<TopologyManager> topology =
      TopologyManager::Make(options.topology, *managers->maps_);
  if (!topology.ok()) return Annotate(topology.status(), "topology manager");
  managers->topology_ = *std::move(topology);
  if (options.static_cpus) {
    absl::StatusOr<StaticCpuPolicy> cpus = StaticCpuPolicy::Make(
        managers->maps_, options.reserved_cpus, options.cpu_options, options.topology.policy);
    if (!cpus.ok()) return Annotate(cpus.status(), "CPU manager");
    managers->cpus_ = *std::move(cpus);
  }
  if (options.static_memory) {
    absl::StatusOr<StaticMemoryPolicy> memory = StaticMemoryPolicy::Make(
        managers->maps_, options.reserved_memory, options.reserved_memory_sum);
    if (!memory.ok()) return Annotate(memory.status(), "memory manager");
    managers->memory_ = *std::move(memory);
  }
  return managers;
}

}  // namespace plimsoll::agent
