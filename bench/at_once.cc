#include "bench/at_once.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/process.h"

namespace plimsoll::bench {

absl::StatusOr<Rate> DoAtOnce(const FsRoot& host, int count, int parallel,
                              const std::function<absl::Status(size_t)>& work) {
  Rate rate;
  std::mutex mutex;
  absl::Status failure;
  std::atomic<size_t> next = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const double busy_before, BusyMilliseconds(host));
  const absl::Time begin = absl::Now();
  std::vector<std::thread> threads;
  for (int i = 0; i < parallel; ++i) {
    threads.emplace_back([&] {
      for (size_t mine = next++; mine < static_cast<size_t>(count); mine = next++) {
        const absl::Time start = absl::Now();
        const absl::Status done = work(mine);
        const std::lock_guard<std::mutex> lock(mutex);
        failure = FirstError(failure, done);
        rate.each.Add(absl::Now() - start);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  rate.per_second = count / absl::ToDoubleSeconds(absl::Now() - begin);
  PLIMSOLL_ASSIGN_OR_RETURN(const double busy_after, BusyMilliseconds(host));
  PLIMSOLL_RETURN_IF_ERROR(failure);
  rate.cpu_milliseconds = (busy_after - busy_before) / count;
  return rate;
}

}  // namespace plimsoll::bench
