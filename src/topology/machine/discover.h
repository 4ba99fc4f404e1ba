// Discovers a machine from hwloc and from the kernel's other files.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_DISCOVER_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_DISCOVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// `root` is "/" or a directory with a captured machine's sys/, proc/ and etc/. `hwloc_program` is
// plimsoll-hwloc; it runs for a captured machine only, and may be empty otherwise. Unknown facts
// are named in Machine::missing and are no error. A passing failure to read (e.g. no descriptors
// left) is one: look again. Thread-safe.
absl::StatusOr<Machine> Discover(const FsRoot& root, const std::string& hwloc_program);

// First half of Discover: packages, caches, cores, their features, and the machine's identity.
// Costs hwloc's thousands of reads, and some for each core.
absl::StatusOr<Machine> DiscoverProcessors(const FsRoot& root, const std::string& hwloc_program);
// Second half: adds NUMA nodes with their memory and huge pages, and swap, and removes everything
// outside the cpuset limits. Costs some dozens of reads. `machine` is the first half's result, so
// that changed memory can be read again at that price.
absl::Status AddMemory(const FsRoot& root, Machine& machine);

// Adds everything that Discover takes from the kernel's files to hwloc's part of the same machine.
// Errors as in Discover.
absl::Status CompleteFromFiles(const FsRoot& root, Machine& machine);

// The contents of the files that show a change, to compare. Costs some dozens of reads; equal text
// means that nothing in them has changed.
struct MachineSignature {
  std::string processors;  // DiscoverProcessors' files: CPUs online, and the existing nodes
  std::string memory;      // AddMemory's files: memory and huge pages of nodes, swap, limits
  bool operator==(const MachineSignature&) const = default;
};
// Errors as in Discover.
absl::StatusOr<MachineSignature> Signature(const FsRoot& root);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_DISCOVER_H_
