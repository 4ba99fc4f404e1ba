// Checks of a foreign topology, alone and against a machine: every source, `plimsoll topology
// check` and plimsoll-agent use them.
#ifndef PLIMSOLL_TOPOLOGY_VALIDATE_H_
#define PLIMSOLL_TOPOLOGY_VALIDATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resources/cpu_set.h"
#include "topology/machine/machine.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// The machine's numbers that a topology can name: the kernel's.
struct MachineNumbers {
  resources::CpuSet cpus;  // online
  // NUMA nodes. None: unknown, and nothing is checked against them.
  std::optional<resources::CpuSet> nodes;
};
MachineNumbers NumbersOf(const Machine& machine);

// Reads a topology as clients do: INVALID_ARGUMENT as ZoneTree::Build, else as MakeMaps.
absl::StatusOr<MachineMaps> ReadMaps(const Topology& topology);

// INVALID_ARGUMENT as ZoneTree::Build, else as MakeMaps: what a client can't read is refused before
// it is shown. Then, if there is a machine, FAILED_PRECONDITION names a zone with CPUs or a NUMA
// node that the machine lacks. The status is the first fault; `faults`, if given, gets all of them,
// but at most ZoneTree::kMaxFaults of a kind. The memory of a zone is its author's own affair.
absl::Status Validate(const Topology& topology, const MachineNumbers* machine,
                      std::vector<std::string>* faults = nullptr);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_VALIDATE_H_
