// The part of a machine that this daemon can use.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_CONFINEMENT_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_CONFINEMENT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "resources/cpu_set.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// The limits of the outermost visible cpuset group; containers are made below it. A machine's own
// root group has everything online; a container's (docker --cpuset-cpus) has less. The daemon's own
// group doesn't matter: AllowedCPUs= of its unit confines it alone, not the containers it makes.
//
// If kubelet's group for pods (kubepods or kubepods.slice, right below the outermost) is a
// partition (cpuset.cpus.partition "root" or "isolated"), pods have its CPUs and no others, and the
// outermost group lists all but these (Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface
// Files"). Pods also have the CPUs that the group has set aside for partitions below it
// (cpuset.cpus.exclusive).
struct Limits {
  std::optional<resources::CpuSet> cpus;  // nullopt: no limit
  // The pods' group that is the partition; empty: the CPUs are the outermost group's.
  std::string partition;
  // Nodes with memory; the kernel never lists nodes without.
  std::optional<resources::CpuSet> memory_nodes;
};
// An error is a passing one (machine_file.h), as in Confine.
absl::StatusOr<Limits> ReadLimits(const FsRoot& root);

// Removes from `machine` everything outside the limits, and says so in `missing`. A node that keeps
// CPUs but not its memory stays, with none.
absl::Status Confine(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_CONFINEMENT_H_
