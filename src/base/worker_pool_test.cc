#include "base/worker_pool.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(WorkerPoolTest, RunsWhatItAccepted) {
  std::atomic<int> done{0};
  {
    WorkerPool pool(4, 1000);
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(pool.TrySchedule([&] { ++done; }));
  }
  EXPECT_EQ(done, 500);
}

TEST(WorkerPoolTest, RefusesWhenFull) {
  absl::Notification started;
  absl::Notification go_on;
  WorkerPool pool(1, 2);
  ASSERT_TRUE(pool.TrySchedule([&] {
    started.Notify();
    go_on.WaitForNotification();
  }));
  started.WaitForNotification();
  EXPECT_TRUE(pool.TrySchedule([] {}));
  EXPECT_TRUE(pool.TrySchedule([] {}));
  EXPECT_FALSE(pool.TrySchedule([] {}));
  EXPECT_EQ(pool.queued(), 2u);
  go_on.Notify();
}

TEST(WorkerPoolTest, ThreadsComeWithWorkAndGoWithout) {
  absl::Notification go_on;
  std::atomic<int> done{0};
  WorkerPool pool(3, 100, absl::Milliseconds(20));
  EXPECT_EQ(pool.threads(), 0u);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pool.TrySchedule([&] {
      go_on.WaitForNotification();
      ++done;
    }));
  }
  EXPECT_EQ(pool.threads(), 3u);
  go_on.Notify();
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (pool.threads() > 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(pool.threads(), 0u);
  EXPECT_EQ(done, 10);
  ASSERT_TRUE(pool.TrySchedule([&] { ++done; }));
}

TEST(RandomIdTest, HasTheFormAndDiffers) {
  const std::string id = RandomId();
  EXPECT_TRUE(IsId(id));
  EXPECT_NE(id, RandomId());
  EXPECT_FALSE(IsId(id.substr(1)));
  EXPECT_FALSE(IsId("../" + id.substr(3)));
}

}  // namespace
}  // namespace plimsoll
