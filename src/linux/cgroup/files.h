// Parses and formats cgroup control files of both versions. Pure functions.
#ifndef PLIMSOLL_LINUX_CGROUP_FILES_H_
#define PLIMSOLL_LINUX_CGROUP_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {

// Parses a limit in bytes, processes or microseconds; -1 for no limit. No limit is "max" on v2, a
// number just below 2^63 (LONG_MAX rounded down to whole pages) in v1's memory files, "-1" in v1's
// cpu files.
absl::StatusOr<int64_t> ParseLimit(absl::string_view text);
// "max" for -1, as cgroup v2 and pids.max need it.
std::string FormatLimit(int64_t limit);

// cpu.max: "50000 100000" or "max 100000".
struct CpuMax {
  int64_t quota_us = -1;
  uint64_t period_us = 100000;
};
absl::StatusOr<CpuMax> ParseCpuMax(absl::string_view text);

// The number after `key` in a flat keyed file ("key value" lines: memory.stat, memory.events,
// cpu.stat, memory.oom_control). nullopt when there is no such key.
std::optional<uint64_t> FindKey(absl::string_view text, absl::string_view key);

// Parses cpu.pressure and the like: "some avg10=1.50 avg60=0.20 avg300=0.00 total=1234" and a line
// "full" of the same form, which kernels before 5.13 leave out for the CPU.
absl::StatusOr<Pressure> ParsePressure(absl::string_view text);

// Parses cgroup.procs. Leaves out 0, which stands for a process that this PID namespace can't see.
absl::StatusOr<std::vector<pid_t>> ParseProcesses(absl::string_view text);

// /proc/<pid>/cgroup: the group in the hierarchy that has the controller, "" for the v2 hierarchy
// ("4:memory:/a", "0::/a"; cgroups(7)). NOT_FOUND when there is none.
absl::StatusOr<std::string> ParseOwnGroup(absl::string_view text, absl::string_view controller);

// Blank-separated words: cgroup.controllers, cgroup.subtree_control.
std::vector<std::string> ParseWords(absl::string_view text);

// Protects a group from a memory limit below the memory it uses and can't give back: a v2 kernel
// would kill for it, a v1 kernel would try for long. FAILED_PRECONDITION then. `droppable`: the
// reclaimable part of `usage`, in bytes.
absl::Status RefuseToStarve(const std::string& group, int64_t limit, int64_t usage,
                            int64_t droppable);

// "2MB" from "hugetlb.2MB.limit_in_bytes" with suffix ".limit_in_bytes".
std::optional<std::string> HugetlbPageSize(absl::string_view file, absl::string_view suffix);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_FILES_H_
