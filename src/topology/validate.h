// What can be wrong with a topology of others, and with one on a certain machine: what every source
// and `plimsoll topology check` hold it against.
#ifndef PLIMSOLL_TOPOLOGY_VALIDATE_H_
#define PLIMSOLL_TOPOLOGY_VALIDATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "resources/cpu_set.h"
#include "topology/machine.h"
#include "topology/zone.h"

namespace plimsoll::topology {

// What of a machine a topology can name: the kernel's numbers.
struct MachineNumbers {
  resources::CpuSet cpus;  // online
  // Of NUMA nodes. None: nobody knows, and nothing is held against them.
  std::optional<resources::CpuSet> nodes;
};
MachineNumbers NumbersOf(const Machine& machine);

// INVALID_ARGUMENT as ZoneTree::Build; then, where there is a machine, FAILED_PRECONDITION names a
// zone with CPUs that it lacks, or a NUMA node that it lacks. That is the first of what is wrong;
// all of it goes to `faults` where that is given, no more than ZoneTree::kMaxFaults of a kind. How
// much memory a zone has is its author's own affair.
absl::Status Validate(const Topology& topology, const MachineNumbers* machine,
                      std::vector<std::string>* faults = nullptr);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_VALIDATE_H_
