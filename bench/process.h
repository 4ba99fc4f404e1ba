// The kernel's figures about processes.
#ifndef PLIMSOLL_BENCH_PROCESS_H_
#define PLIMSOLL_BENCH_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::bench {

// The number of a line "Name:   123 kB" in a file below `host`; `name` includes the colon.
absl::StatusOr<int64_t> ReadNumber(const FsRoot& host, const std::string& file,
                                   absl::string_view name);

// The process at the other end of a unix socket.
absl::StatusOr<pid_t> ServerOf(const std::string& path);

struct ProcessFigures {
  int64_t resident_kib = 0;
  int64_t pss_kib = 0;
  int64_t private_kib = 0;  // clean and dirty
  int64_t threads = 0;
};
absl::StatusOr<ProcessFigures> ReadProcess(const FsRoot& host, pid_t pid);

// CPU time of all processes since boot, idle excluded.
absl::StatusOr<double> BusyMilliseconds(const FsRoot& host);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_PROCESS_H_
