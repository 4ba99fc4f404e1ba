// Repairs machines whose files contradict each other: hwloc silently leaves out contradictory
// parts.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_CONTRADICTIONS_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_CONTRADICTIONS_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// Errors are passing ones (machine_file.h). Contradictions end up in `missing`.

// If hwloc has CPUs in no package, or no packages (kNoPackages): takes the packages from the
// kernel's masks (package_cpus) if those agree with each other, else from its numbers
// (physical_package_id).
absl::Status RestorePackages(const FsRoot& root, Machine& machine);

// Adds caches that the kernel shows and hwloc left out, if they contradict nothing; names the
// others.
absl::Status RestoreCaches(const FsRoot& root, Machine& machine);

// Gives CPUs without a package one together, and CPUs that are in none of several NUMA nodes the
// first node of their package (else of the machine): no client could read them otherwise. Names
// them.
void PlaceRest(Machine& machine);

// Names packages and NUMA nodes that overlap without one inside the other: the smaller one gets the
// shared cores.
void TellOverlaps(Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_CONTRADICTIONS_H_
