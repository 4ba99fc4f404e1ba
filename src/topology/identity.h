// Who a machine is and what its processors can do, from files that hwloc does not read.
#ifndef PLIMSOLL_TOPOLOGY_IDENTITY_H_
#define PLIMSOLL_TOPOLOGY_IDENTITY_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// Errors are passing ones (machine_file.h).

// Attributes machine-id, boot-id and system-uuid (what cAdvisor calls MachineID, BootID and
// SystemUUID); what is not to be had goes to `missing`, with the reason.
absl::Status ReadIdentity(const FsRoot& root, Machine& machine);

// Attribute cpu-features of each package: the features that all its CPUs have, sorted, separated by
// commas, as /proc/cpuinfo names them ("flags" on x86, "Features" on arm64, "features" on s390x).
// Absent where /proc/cpuinfo names none. Where LXCFS tells /proc/cpuinfo, with numbers of its own,
// each package has those that all CPUs there have, and `missing` says so.
absl::Status ReadCpuFeatures(const FsRoot& root, Machine& machine);

// SwapTotal of /proc/meminfo.
absl::Status ReadSwap(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_IDENTITY_H_
