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

// The second half of Discover: what the kernel's files below `root` tell beyond what hwloc has told
// of the same machine. An error as Discover's.
absl::Status CompleteFromFiles(const FsRoot& root, Machine& machine);

// Of the same files those that a change shows in, as text to be compared: CPUs online and allowed,
// nodes, their memory and huge pages, swap. Costs some dozens of reads, not hwloc's thousands;
// equal text means that nothing of that has changed. An error as Discover's.
absl::StatusOr<std::string> Signature(const FsRoot& root);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_DISCOVER_H_
