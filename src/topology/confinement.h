// What of a machine can be used at all from where this daemon runs.
#ifndef PLIMSOLL_TOPOLOGY_CONFINEMENT_H_
#define PLIMSOLL_TOPOLOGY_CONFINEMENT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "resources/cpu_set.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// The outermost cpuset group that can be seen: containers are made below it. A machine's own root
// group has all that is online; a container's (docker --cpuset-cpus) has less. The daemon's own
// group is not asked: AllowedCPUs= of its unit confines it alone, not the containers it makes.
//
// Where kubelet's group for pods (kubepods or kubepods.slice, right below the outermost) is a
// partition (cpuset.cpus.partition "root" or "isolated"), pods have its CPUs and no others, and the
// outermost group lists all but these (Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface
// Files"). CPUs that the group has set aside for partitions below it (cpuset.cpus.exclusive) are
// pods' as well.
struct Limits {
  std::optional<resources::CpuSet> cpus;  // nullopt: no limit
  // The pods' group whose CPUs those are; empty: they are the outermost group's.
  std::string partition;
  // Nodes with memory; the kernel never lists those without.
  std::optional<resources::CpuSet> memory_nodes;
};
// An error is a passing one (machine_file.h), as for Confine.
absl::StatusOr<Limits> ReadLimits(const FsRoot& root);

// Takes from `machine` what the limits leave to others, and says so in `missing`. A node that keeps
// CPUs but not its memory stays, with none.
absl::Status Confine(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_CONFINEMENT_H_
