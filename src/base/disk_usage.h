// What a directory takes on its disk.
#ifndef PLIMSOLL_BASE_DISK_USAGE_H_
#define PLIMSOLL_BASE_DISK_USAGE_H_

#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll {

struct DiskUsage {
  uint64_t bytes = 0;  // in blocks: a sparse file counts what it holds
  uint64_t inodes = 0;

  bool operator==(const DiskUsage&) const = default;
};

// Of a directory and everything below it, as du(1) counts: a file of several names once, no other
// file system, no symbolic link followed. What comes and goes meanwhile is counted or not. Any
// depth. CANCELLED where `stop` is asked for before the end.
absl::StatusOr<DiskUsage> MeasureTree(const FsRoot& directory, const std::stop_token& stop = {});

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_DISK_USAGE_H_
