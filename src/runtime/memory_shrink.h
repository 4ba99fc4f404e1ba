// Room for a memory limit below what a container uses.
#ifndef PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_
#define PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {

// Has the kernel reclaim of the group until it uses no more than `bytes`, or nothing more is to be
// got: page cache first, then what can be swapped out. Nothing is killed for it, and nothing is
// written where no more than `bytes` is in use. Both layouts have a limit that the kernel reclaims
// for when it is written (memory.high; on v1 the limit itself, which the kernel doesn't take when
// it can't get there); it is put back at once. Errors are the kernel's; NOT_FOUND without the
// group. `lowered`: whether the limit could not be put back, and so is `bytes` still.
absl::Status ShrinkMemory(linux::CgroupManager& cgroups, absl::string_view group, int64_t bytes,
                          bool* lowered);

// That limit: whoever is killed before it is put back leaves a group that is throttled for ever.
// Read beforehand and kept, it is written when that is found.
absl::StatusOr<std::string> ReadShrinkLimit(const linux::CgroupManager& cgroups,
                                            absl::string_view group);
absl::Status WriteShrinkLimit(linux::CgroupManager& cgroups, absl::string_view group,
                              absl::string_view limit);

// ShrinkMemory for a limit of `bytes` in an update, of which the mark says what is to be put back
// after a kill in between, or when it can't be at once.
absl::Status MakeRoom(linux::CgroupManager& cgroups, const std::string& group, int64_t bytes,
                      UpdateMark* mark);
// What an update before this one could not put back, by its mark of that id.
absl::Status PutLimitBack(linux::CgroupManager& cgroups, const FsRoot& run, absl::string_view mark,
                          const std::string& group);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_
