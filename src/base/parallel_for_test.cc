#include "base/parallel_for.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(ParallelFor, DoesEachOnce) {
  for (const size_t count : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> done(count);
    ParallelFor(count, 1, [&](size_t i) { ++done[i]; });
    EXPECT_THAT(std::vector<int>(done.begin(), done.end()), Each(1)) << count;
  }
}

TEST(EachAtOnce, RunsOnMoreThreadsThanProcessors) {
  constexpr size_t kCalls = 40;
  std::atomic<size_t> here = 0;
  EachAtOnce(kCalls, kCalls, [&](size_t) {
    ++here;
    EXPECT_TRUE(WaitUntil([&] { return here == kCalls; }));
  });
}

TEST(EachAtOnce, DoesEachOnceOnNoMoreThreadsThanItMay) {
  std::vector<std::atomic<int>> done(100);
  std::atomic<int> here = 0;
  std::atomic<int> most = 0;
  EachAtOnce(done.size(), 3, [&](size_t i) {
    const int now = ++here;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    ++done[i];
    --here;
  });
  EXPECT_THAT(std::vector<int>(done.begin(), done.end()), Each(1));
  EXPECT_LE(most, 3);
}

TEST(ParallelFor, RunsOnSeveralThreadsWhereThatPays) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  absl::Mutex mutex;
  std::set<std::thread::id> threads;
  const auto seen = [&] {
    const absl::MutexLock lock(&mutex);
    return threads.size();
  };
  ParallelFor(2, 1, [&](size_t) {
    {
      const absl::MutexLock lock(&mutex);
      threads.insert(std::this_thread::get_id());
    }
    EXPECT_TRUE(WaitUntil([&] { return seen() == 2; }));
  });
}

TEST(ParallelFor, DoesLittleByItself) {
  std::set<std::thread::id> threads;
  ParallelFor(9, 10, [&](size_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
}

}  // namespace
}  // namespace plimsoll
