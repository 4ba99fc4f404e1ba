// Machines whose files contradict each other. hwloc leaves out what does not fit, and says nothing.
#ifndef PLIMSOLL_TOPOLOGY_CONTRADICTIONS_H_
#define PLIMSOLL_TOPOLOGY_CONTRADICTIONS_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// Errors are passing ones (machine_file.h). What was contradictory is in `missing` afterwards.

// Where hwloc has CPUs in no package: the packages by the kernel's masks (package_cpus), if those
// agree with each other, or else by its numbers (physical_package_id).
absl::Status RestorePackages(const FsRoot& root, Machine& machine);

// Of the caches that the kernel tells of and hwloc left out: those that contradict nothing. The
// others are named.
absl::Status RestoreCaches(const FsRoot& root, Machine& machine);

// Names packages and NUMA nodes that overlap without one being in the other: their cores are shown
// in the smaller.
void TellOverlaps(Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_CONTRADICTIONS_H_
