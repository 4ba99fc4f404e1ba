#include "base/worker_pool.h"

#include <atomic>

#include "absl/synchronization/notification.h"
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

TEST(RandomIdTest, HasTheFormAndDiffers) {
  const std::string id = RandomId();
  EXPECT_TRUE(IsId(id));
  EXPECT_NE(id, RandomId());
  EXPECT_FALSE(IsId(id.substr(1)));
  EXPECT_FALSE(IsId("../" + id.substr(3)));
}

}  // namespace
}  // namespace plimsoll
