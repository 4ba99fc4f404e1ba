// The memory of each NUMA node when the kernel's files disagree.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_NODE_MEMORY_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_NODE_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// True when the sum over the nodes' own files (node0/meminfo) differs by more than 3% from MemTotal
// of /proc/meminfo. False if either is unavailable. An error is a passing one (machine_file.h), as
// in DecideMemory.
absl::StatusOr<bool> NodeFilesDisagree(const FsRoot& root);

// If they disagree, MemTotal decides. A single node gets it all; several nodes share it by their
// online memory blocks (nodeN/memoryM), since some kernels don't count memory added after boot in
// the node's file. Without blocks the nodes' files stand. A smaller MemTotal from LXCFS is the
// container's limit: the nodes share it by their own files. `missing` explains the decision.
absl::Status DecideMemory(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_NODE_MEMORY_H_
