// Reading what a machine tells of itself. That a file is not there, or never can be read, is
// something that it tells; that it can't be read just now is not.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_FILE_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::topology {

// True for what another attempt may not meet: no descriptors, no memory, interrupted.
bool IsPassing(const absl::Status& status);

struct MachineFile {
  std::string text;  // empty: it says nothing
  // Why it can't be read, where it is there. Such is lasting: not permitted, an input error of the
  // firmware's.
  std::string why_not;
};

// An error is a passing one.
absl::StatusOr<MachineFile> ReadMachineFile(const FsRoot& root, const std::string& file,
                                            size_t max_bytes = 16 * 1024 * 1024);
// Names in a directory; none when it is not there or can't be read. An error is a passing one.
absl::StatusOr<std::vector<std::string>> ListMachineFiles(const FsRoot& root,
                                                          const std::string& directory);

// RESOURCE_EXHAUSTED when descriptors are short: who takes a file that he can't open for one that
// is not there, as hwloc does, would then see another machine.
absl::Status CheckHeadroom(const FsRoot& root);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_FILE_H_
