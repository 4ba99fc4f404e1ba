// Room for a memory limit below what a container uses.
#ifndef PLIMSOLL_RUNTIME_UPDATES_MEMORY_SHRINK_H_
#define PLIMSOLL_RUNTIME_UPDATES_MEMORY_SHRINK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/objects/update_mark.h"

namespace plimsoll::runtime {

// Makes the kernel reclaim memory of the group until the group uses no more than `bytes`, or no
// more can be reclaimed: page cache first, then memory that can be swapped out. No process is
// killed, and nothing is written if no more than `bytes` is in use. The kernel reclaims when a
// limit is written: memory.high, on v1 the memory limit itself, which the kernel refuses if it
// can't reclaim enough. The limit is then put back at once. Errors are the kernel's; NOT_FOUND
// without the group. `lowered`: the limit could not be put back and is still `bytes`.
absl::Status ShrinkMemory(linux::CgroupManager& cgroups, absl::string_view group, int64_t bytes,
                          bool* lowered);

// The limit that ShrinkMemory lowers for a moment. A daemon killed in that moment leaves a group
// that is throttled for ever, so the caller reads and saves the limit before, and the next start
// writes it back.
absl::StatusOr<std::string> ReadShrinkLimit(const linux::CgroupManager& cgroups,
                                            absl::string_view group);
absl::Status WriteShrinkLimit(linux::CgroupManager& cgroups, absl::string_view group,
                              absl::string_view limit);

// ShrinkMemory for an update to a memory limit of `bytes`. The mark keeps the limit to put back
// after a kill in between, or if it can't be put back at once.
absl::Status MakeRoom(linux::CgroupManager& cgroups, const std::string& group, int64_t bytes,
                      UpdateMark* mark);
// Puts back the limit that an earlier update could not put back. `mark`: the id of that update's
// mark.
absl::Status PutLimitBack(linux::CgroupManager& cgroups, const FsRoot& run, absl::string_view mark,
                          const std::string& group);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATES_MEMORY_SHRINK_H_
