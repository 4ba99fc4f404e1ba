// Memory use of a process.
#ifndef PLIMSOLL_TESTS_SOAK_MEMORY_H_
#define PLIMSOLL_TESTS_SOAK_MEMORY_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace plimsoll::testing {

struct MemorySample {
  int pods = 0;  // pods that had lived by then
  int64_t resident_kib = 0;
  int64_t pss_kib = 0;
  int64_t private_kib = 0;  // clean and dirty
  int64_t threads = 0;
  int64_t descriptors = 0;
};

// From /proc/<pid>/smaps_rollup, status and fd.
absl::StatusOr<MemorySample> SampleMemory(pid_t pid);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_MEMORY_H_
