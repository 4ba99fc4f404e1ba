#include "topology/validate.h"

#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/zone_tree.h"

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

}  // namespace

MachineNumbers NumbersOf(const Machine& machine) {
  CpuSet nodes;
  for (const NumaNode& node : machine.nodes) nodes.Add(node.id);
  return {machine.cpus, std::move(nodes)};
}

absl::Status Validate(const Topology& topology, const MachineNumbers* machine,
                      std::vector<std::string>* faults) {
  std::vector<std::string> own;
  std::vector<std::string>& found = faults == nullptr ? own : *faults;
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(topology, &found));
  if (machine == nullptr) return absl::OkStatus();
  CheckCpusExist(tree, machine->cpus, &found).IgnoreError();
  if (machine->nodes) CheckNodesExist(topology, *machine->nodes, found);
  return found.empty() ? absl::OkStatus() : absl::FailedPreconditionError(found.front());
}

}  // namespace plimsoll::topology
