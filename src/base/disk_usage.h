// Disk usage of a directory tree.
#ifndef PLIMSOLL_BASE_DISK_USAGE_H_
#define PLIMSOLL_BASE_DISK_USAGE_H_

#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll {

struct DiskUsage {
  uint64_t bytes = 0;  // allocated blocks: the holes of a sparse file don't count
  uint64_t inodes = 0;

  bool operator==(const DiskUsage&) const = default;
};

// Measures a directory and everything below it as du(1) does: a file of several names counts once,
// other file systems are left out, no symbolic link is followed. Files that come or go meanwhile
// may count or not. Any depth. CANCELLED where `stop` is requested before the end.
absl::StatusOr<DiskUsage> MeasureTree(const FsRoot& directory, const std::stop_token& stop = {});

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_DISK_USAGE_H_
