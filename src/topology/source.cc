#include "topology/source.h"

#include <algorithm>
#include <utility>

#include "resources/cpu_set.h"
#include "topology/validate.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

bool HasMemory(const NumaNode& node) {
  return node.memory_bytes > 0 || std::any_of(node.hugepages.begin(), node.hugepages.end(),
                                              [](const auto& pool) { return pool.second > 0; });
}

}  // namespace

absl::Status CheckAgainst(const Topology& topology, const Machine& machine) {
  const MachineNumbers numbers = NumbersOf(machine);
  return Validate(topology, &numbers);
}

Partition FitToMachine(Partition partition, const ZoneTree& tree, const Machine& machine) {
  if (tree.Cpus().Empty()) partition.cpus = machine.cpus;
  CpuSet all;
  for (const NumaNode& node : machine.nodes) {
    if (HasMemory(node)) all.Add(node.id);
  }
  const auto& zones = tree.topology().zones;
  const bool has_nodes = std::any_of(zones.begin(), zones.end(), [](const Zone& zone) {
    return IsOfType(zone, kNumaNode) && NumberOf(zone).has_value();
  });
  if (!has_nodes) partition.memory_nodes = all;
  partition.is_whole =
      machine.cpus.IsSubsetOf(partition.cpus) && all.IsSubsetOf(partition.memory_nodes);
  return partition;
}

}  // namespace plimsoll::topology
