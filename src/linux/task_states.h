// Thread states of processes, from /proc.
#ifndef PLIMSOLL_LINUX_TASK_STATES_H_
#define PLIMSOLL_LINUX_TASK_STATES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// Numbers of threads by state (proc(5), field 3 of stat). Ended threads don't count.
struct TaskStates {
  uint64_t running = 0;          // R: on a processor or waiting for one
  uint64_t sleeping = 0;         // S
  uint64_t uninterruptible = 0;  // D: mostly waiting for I/O
  uint64_t stopped = 0;          // T, t: by a signal or a debugger
  bool operator==(const TaskStates&) const = default;
};

// Counts the threads of all these processes together; ended ones have none. nullopt when there are
// more than `most` threads, since counting would take too long (about 10 us each). `host` holds
// proc/.
absl::StatusOr<std::optional<TaskStates>> CountTaskStates(const FsRoot& host,
                                                          const std::vector<pid_t>& processes,
                                                          uint64_t most);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_TASK_STATES_H_
