#include "topology/machine/lxcfs.h"

#include <vector>

#include "absl/strings/str_split.h"
#include "base/status.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {

absl::StatusOr<bool> IsByLxcfs(const FsRoot& root, absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile mounts, ReadMachineFile(root, "proc/mounts"));
  bool is_by_lxcfs = false;
  for (const absl::string_view line : absl::StrSplit(mounts.text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    // The last mount is the visible one.
    if (fields.size() > 2 && fields[1] == file) is_by_lxcfs = fields[2] == "fuse.lxcfs";
  }
  return is_by_lxcfs;
}

}  // namespace plimsoll::topology
