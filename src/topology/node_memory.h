// How much memory each NUMA node has, where the kernel's files disagree.
#ifndef PLIMSOLL_TOPOLOGY_NODE_MEMORY_H_
#define PLIMSOLL_TOPOLOGY_NODE_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// Whether what the nodes' own files (node0/meminfo) add up to differs by more than 3% from MemTotal
// of /proc/meminfo. False where either is not to be had. An error is a passing one
// (machine_file.h), as for DecideMemory.
absl::StatusOr<bool> NodeFilesDisagree(const FsRoot& root);

// Where they disagree MemTotal decides: it is the only node's memory, or shared out among the nodes
// by the memory blocks that each has online (nodeN/memoryM), since some kernels don't count memory
// that was added after boot in the node's file. Without blocks the nodes' files stand. A MemTotal
// that LXCFS tells, and that is less than they have, is what a container may use: it is shared out
// by the nodes' own files. `missing` says what was done.
absl::Status DecideMemory(const FsRoot& root, Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_NODE_MEMORY_H_
