#include "topology/validate.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

void CheckNodesExist(const Topology& topology, const CpuSet& nodes,
                     std::vector<std::string>& faults) {
  size_t found = 0;
  for (const Zone& zone : topology.zones) {
    if (!IsOfType(zone, kNumaNode)) continue;
    const auto number = NumberOf(zone);
    if (!number || nodes.Contains(*number)) continue;
    if (++found > ZoneTree::kMaxFaults) return;
    faults.push_back(
        absl::StrCat("zone \"", absl::Utf8SafeCHexEscape(zone.name), "\" is NUMA node ", *number,
                     ", but this machine has no such node; it has ", nodes.ToString()));
  }
}

std::vector<std::string> CheckMachine(const ZoneTree& tree, const MachineNumbers& machine) {
  std::vector<std::string> faults;
  CheckCpusExist(tree, machine.cpus, &faults).IgnoreError();  // `faults` has them all
  if (machine.nodes) CheckNodesExist(tree.topology(), *machine.nodes, faults);
  return faults;
}

}  // namespace

MachineNumbers NumbersOf(const Machine& machine) {
  CpuSet nodes;
  for (const NumaNode& node : machine.nodes) nodes.Add(node.id);
  return {machine.cpus, std::move(nodes)};
}

absl::StatusOr<MachineMaps> ReadMaps(const Topology& topology) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(topology));
  return MakeMaps(tree);
}

absl::Status Validate(const Topology& topology, const MachineNumbers* machine,
                      std::vector<std::string>* faults) {
  std::vector<std::string> own;
  std::vector<std::string>& found = faults == nullptr ? own : *faults;
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(topology, &found));
  const absl::Status readable = MakeMaps(tree, &found).status();
  if (machine == nullptr) return readable;
  const std::vector<std::string> foreign = CheckMachine(tree, *machine);
  found.insert(found.end(), foreign.begin(), foreign.end());
  if (!readable.ok() || foreign.empty()) return readable;
  return absl::FailedPreconditionError(foreign.front());
}

}  // namespace plimsoll::topology
