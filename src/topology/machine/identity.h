// A machine's identity and its processors' features, from files that hwloc does not read.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_IDENTITY_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_IDENTITY_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// Errors are passing ones (machine_file.h).

// Adds the attributes machine-id, boot-id and system-uuid (cAdvisor's MachineID, BootID and
// SystemUUID). Those not available go to `missing`, with the reason.
absl::Status ReadIdentity(const FsRoot& root, Machine& machine);

// Adds the attribute cpu-features to each package: the features common to all its CPUs, sorted,
// separated by commas, with their names in /proc/cpuinfo ("flags" on x86, "Features" on arm64,
// "features" on s390x). Absent where /proc/cpuinfo names none. LXCFS renumbers the CPUs in its
// /proc/cpuinfo: then each package gets the features that all CPUs there have, and `missing` says
// so.
absl::Status ReadCpuFeatures(const FsRoot& root, Machine& machine);

// Reads SwapTotal of /proc/meminfo.
absl::Status ReadSwap(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_IDENTITY_H_
