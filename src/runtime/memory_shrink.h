// Room for a memory limit below what a container uses.
#ifndef PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_
#define PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup.h"

namespace plimsoll::runtime {

// Has the kernel reclaim of the group until it uses no more than `bytes`, or nothing more is to be
// got: page cache first, then what can be swapped out. Nothing is killed for it. Both layouts have
// a limit that the kernel reclaims for when it is written (memory.high; on v1 the limit itself,
// which the kernel doesn't take when it can't get there); it is put back at once. Errors are the
// kernel's; NOT_FOUND without the group.
absl::Status ShrinkMemory(linux::CgroupManager& cgroups, absl::string_view group, int64_t bytes);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_MEMORY_SHRINK_H_
