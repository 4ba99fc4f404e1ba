// Kinds of a machine's cores: their speeds, and which kinds are the fast ones.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_CORE_KINDS_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_CORE_KINDS_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// Replaces `machine`'s kinds by data in the kernel's files for each core: its frequencies (cpufreq;
// hwloc levels those that differ by less than 10%), its capacity and part number (arm64:
// cpu_capacity, MIDR_EL1 or "CPU part" of /proc/cpuinfo), and the lists of Intel's hybrid machines
// (sys/devices/cpu_core, cpu_atom, cpu_lowpower). Without such files hwloc's kinds stay. An error
// is a passing one (machine_file.h).
absl::Status ReadCoreKinds(const FsRoot& root, Machine& machine);

// For each kind, true if it is of the fast sort; nullopt for all where the machine has one sort.
// Intel's names decide if there are names. Otherwise cores with the same part number are one sort,
// and cores without number are one sort while their capacities differ by less than 15% from one to
// the next; the widest gap between two sorts' capacities, 15% at least, divides the slow from the
// fast.
std::vector<std::optional<bool>> WhichAreFast(const std::vector<CoreKind>& kinds);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_CORE_KINDS_H_
