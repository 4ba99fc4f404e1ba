#include "topology/source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/cpu_set.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

bool HasMemory(const NumaNode& node) {
  return node.memory_bytes > 0 || std::any_of(node.hugepages.begin(), node.hugepages.end(),
                                              [](const auto& pool) { return pool.second > 0; });
}

}  // namespace

absl::Status CheckAgainst(const Topology& topology, const Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(topology));
  PLIMSOLL_RETURN_IF_ERROR(CheckCpusExist(tree, machine.cpus));
  CpuSet nodes;
  for (const NumaNode& node : machine.nodes) nodes.Add(node.id);
  for (const Zone& zone : topology.zones) {
    if (!IsOfType(zone, kNumaNode)) continue;
    const auto number = NumaNodeNumber(zone.name);
    if (!number || nodes.Contains(*number)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("zone \"", zone.name, "\" is NUMA node ", *number,
                     ", which this machine does not have; it has ", nodes.ToString()));
  }
  return absl::OkStatus();
}

Partition FitToMachine(Partition partition, const ZoneTree& tree, const Machine& machine) {
  if (tree.Cpus().Empty()) partition.cpus = machine.cpus;
  CpuSet all;
  for (const NumaNode& node : machine.nodes) {
    if (HasMemory(node)) all.Add(node.id);
  }
  const auto& zones = tree.topology().zones;
  const bool has_nodes = std::any_of(zones.begin(), zones.end(), [](const Zone& zone) {
    return IsOfType(zone, kNumaNode) && NumaNodeNumber(zone.name).has_value();
  });
  if (!has_nodes) partition.memory_nodes = all;
  partition.is_whole =
      machine.cpus.IsSubsetOf(partition.cpus) && all.IsSubsetOf(partition.memory_nodes);
  return partition;
}

}  // namespace plimsoll::topology
