// The speed of lines of text from a container into its log.
#ifndef PLIMSOLL_BENCH_LOG_SPEED_H_
#define PLIMSOLL_BENCH_LOG_SPEED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "bench/bare_runner.h"
#include "bench/cri_client.h"

namespace plimsoll::bench {

struct LogSpeed {
  double mebibytes_per_second = 0;  // of text, without the log's additions
  int64_t lines = 0;
};

// Times a container that writes so many MiB in lines of 100 bytes, from its first to its last entry
// by the log's times. An error when a line is missing.
absl::StatusOr<LogSpeed> MeasureLog(CriClient& client, const std::string& name, int mebibytes);

// The same by conmon and crun alone. NOT_FOUND where there is no conmon. `runner` has its bundle.
absl::StatusOr<LogSpeed> MeasureConmonLog(BareRunner& runner, const FsRoot& directory,
                                          int mebibytes);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_LOG_SPEED_H_
