// Kinds of cores of one machine: how fast, and which are of the fast sort.
#ifndef PLIMSOLL_TOPOLOGY_CORE_KINDS_H_
#define PLIMSOLL_TOPOLOGY_CORE_KINDS_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// Replaces the kinds of `machine` by what the kernel's files say of each core: its frequencies
// (cpufreq; hwloc levels those that differ by less than 10%), its capacity and part number (arm64:
// cpu_capacity, MIDR_EL1 or "CPU part" of /proc/cpuinfo), and the lists of Intel's hybrid machines
// (sys/devices/cpu_core, cpu_atom, cpu_lowpower). hwloc's kinds stay where there are no such files.
// An error is a passing one (machine_file.h).
absl::Status ReadCoreKinds(const FsRoot& root, Machine& machine);

// Of each kind whether it is of the fast sort; nullopt for all where the machine has one sort.
// By Intel's names where there are names. Else cores of one part number are of one sort, and of
// cores without number those whose capacities differ by less than 15% from one to the next; the
// widest gap between two sorts' capacities, 15% at least, is between the slow and the fast.
std::vector<std::optional<bool>> WhichAreFast(const std::vector<CoreKind>& kinds);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_CORE_KINDS_H_
