// NUMA nodes from the kernel's own files. hwloc leaves out nodes whose CPUs overlap (numa=fake),
// nodes of a GPU's memory, and the distance of a single node to itself.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_NODES_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_NODES_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// Replaces `machine`'s nodes by those below sys/devices/system/node, if there are any, and keeps
// what only hwloc knows about them (memory-type). A CPU that several nodes claim goes to the node
// that the kernel counts it to (the link cpuN/nodeM), else to the smallest; `missing` says so.
// Memory of a GPU (proc/driver/nvidia/gpus/*/numa_status) has the memory-type GPUMemory. An error
// is a passing one (machine_file.h).
absl::Status ReadKernelNodes(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_NODES_H_
