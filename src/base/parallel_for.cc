#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

constexpr size_t kMostThreads = 4;

void RunOn(size_t threads, size_t count, absl::FunctionRef<void(size_t)> each) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) each(i);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {  // the process may have no more: the running ones do it all
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace

void ParallelFor(size_t count, size_t share, absl::FunctionRef<void(size_t)> each) {
  RunOn(std::min({kMostThreads, size_t{std::thread::hardware_concurrency()},
                  count / std::max<size_t>(share, 1)}),
        count, each);
}

void EachAtOnce(size_t count, size_t most, absl::FunctionRef<void(size_t)> each) {
  RunOn(std::min(most, count), count, each);
}

}  // namespace plimsoll
