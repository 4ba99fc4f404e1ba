// Many calls of one kind at once.
#ifndef PLIMSOLL_BENCH_AT_ONCE_H_
#define PLIMSOLL_BENCH_AT_ONCE_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "bench/series.h"

namespace plimsoll::bench {

struct Rate {
  Series each;  // duration of each
  double per_second = 0;
  double cpu_milliseconds = 0;  // of the whole machine, per call
};

// Calls `work` with 0 to count-1, in `parallel` threads. Returns the first error, once all are
// done. `host` holds proc/.
absl::StatusOr<Rate> DoAtOnce(const FsRoot& host, int count, int parallel,
                              const std::function<absl::Status(size_t)>& work);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_AT_ONCE_H_
