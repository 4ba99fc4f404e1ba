// What the threads of processes are doing, by /proc.
#ifndef PLIMSOLL_LINUX_TASK_STATES_H_
#define PLIMSOLL_LINUX_TASK_STATES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// Threads by state (proc(5), field 3 of stat). Those that have ended are none.
struct TaskStates {
  uint64_t running = 0;          // R: on a processor, or waits for one
  uint64_t sleeping = 0;         // S
  uint64_t uninterruptible = 0;  // D: mostly waits for I/O
  uint64_t stopped = 0;          // T, t: by a signal or a debugger
  bool operator==(const TaskStates&) const = default;
};

// Of all these processes together; those that are gone have none. nullopt when there are more than
// `most` threads: to count them would take too long (about 10 us each). `host` holds proc/.
absl::StatusOr<std::optional<TaskStates>> CountTaskStates(const FsRoot& host,
                                                          const std::vector<pid_t>& processes,
                                                          uint64_t most);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_TASK_STATES_H_
