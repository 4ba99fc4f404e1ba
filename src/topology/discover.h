// What the kernel says of a machine: hwloc's part and the rest.
#ifndef PLIMSOLL_TOPOLOGY_DISCOVER_H_
#define PLIMSOLL_TOPOLOGY_DISCOVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// `root` is "/" or a directory with a captured machine's sys/, proc/ and etc/. `hwloc_program` is
// plimsoll-hwloc; it is run for a captured machine only, and may be empty otherwise. What is not
// told is named in Machine::missing and no error. What can't be read just now (no descriptors left,
// say) is one: look again. Thread-safe.
absl::StatusOr<Machine> Discover(const FsRoot& root, const std::string& hwloc_program);

// Discover's two halves. The first tells packages, caches, cores, what they can do, and which
// machine it is: hwloc's thousands of reads, and some for each core.
absl::StatusOr<Machine> DiscoverProcessors(const FsRoot& root, const std::string& hwloc_program);
// The second adds NUMA nodes with their memory and huge pages, and swap, and takes away what limits
// of cpusets leave to others: some dozens of reads. `machine` is as the first has told it, so that
// memory that moves is read again at that price.
absl::Status AddMemory(const FsRoot& root, Machine& machine);

// All of Discover beyond what hwloc has told of the same machine, from the kernel's files. An error
// as Discover's.
absl::Status CompleteFromFiles(const FsRoot& root, Machine& machine);

// Of the same files those that a change shows in, as text to be compared. Costs some dozens of
// reads; equal text means that nothing of that has changed.
struct MachineSignature {
  std::string processors;  // what DiscoverProcessors tells: CPUs online, and which nodes there are
  std::string memory;      // what AddMemory tells: memory and huge pages of nodes, swap, limits
  bool operator==(const MachineSignature&) const = default;
};
// An error as Discover's.
absl::StatusOr<MachineSignature> Signature(const FsRoot& root);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_DISCOVER_H_
