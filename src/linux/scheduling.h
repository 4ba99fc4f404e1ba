// Scheduling policies of processes: sched_setattr(2).
#ifndef PLIMSOLL_LINUX_SCHEDULING_H_
#define PLIMSOLL_LINUX_SCHEDULING_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::linux {

struct Scheduling {
  std::string policy;              // "SCHED_OTHER", "_BATCH", "_IDLE", "_FIFO", "_RR", "_DEADLINE"
  int nice = 0;                    // -20 to 19; of SCHED_OTHER and SCHED_BATCH
  int priority = 0;                // 1 to 99; of SCHED_FIFO and SCHED_RR
  std::vector<std::string> flags;  // "SCHED_FLAG_RESET_ON_FORK", "_RECLAIM", "_DL_OVERRUN",
                                   // "_KEEP_POLICY", "_KEEP_PARAMS"
  uint64_t runtime_ns = 0;         // these three: of SCHED_DEADLINE
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// INVALID_ARGUMENT for values that the kernel can't take, UNIMPLEMENTED for flags that need values
// which there is no room for (SCHED_FLAG_UTIL_CLAMP_MIN and _MAX) and for SCHED_ISO.
absl::Status CheckScheduling(const Scheduling& scheduling);

// For this process (its first thread). Its children inherit it, unless a flag says otherwise.
// PERMISSION_DENIED without CAP_SYS_NICE; for a realtime policy in a control group (v1) without
// realtime budget; for SCHED_DEADLINE in a cpuset, or without bandwidth left.
absl::Status SetScheduling(pid_t process, const Scheduling& scheduling);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_SCHEDULING_H_
