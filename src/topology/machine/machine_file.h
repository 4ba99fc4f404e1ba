// Reads files that describe a machine. A missing file, or one that can never be read, is a fact
// about the machine; a passing failure to read is an error.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILE_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::topology {

// True for an error that another attempt may not meet: no descriptors, no memory, interrupted.
bool IsPassing(const absl::Status& status);

struct MachineFile {
  std::string text;  // empty: no content
  // Why an existing file can't be read. Such a failure is lasting: not permitted, or an input error
  // of the firmware.
  std::string why_not;
};

// An error is a passing one.
absl::StatusOr<MachineFile> ReadMachineFile(const FsRoot& root, const std::string& file,
                                            size_t max_bytes = 16 * 1024 * 1024);
// Names in a directory; none when it doesn't exist or can't be read. An error is a passing one.
absl::StatusOr<std::vector<std::string>> ListMachineFiles(const FsRoot& root,
                                                          const std::string& directory);

// RESOURCE_EXHAUSTED when descriptors are short. hwloc takes a file that it can't open for a
// missing one, and would then see another machine.
absl::Status CheckHeadroom(const FsRoot& root);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_FILE_H_
