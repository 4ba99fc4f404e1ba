#include "pod_runner/stop_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/wait_until_for_test.h"

namespace plimsoll::pod {
namespace {

TEST(StopTurnsTest, ARankWaitsForAllOfTheRanksBefore) {
  StopTurns turns(600, {0, 0, 1, 2});
  turns.Await(0);
  std::atomic<int> reached = 0;
  std::thread second([&] {
    turns.Await(1);
    reached = 1;
    turns.End(1);
  });
  std::thread third([&] {
    turns.Await(2);
    EXPECT_EQ(reached, 1);
    reached = 2;
  });
  turns.End(0);
  EXPECT_EQ(reached, 0);
  turns.End(0);
  second.join();
  third.join();
  EXPECT_EQ(reached, 2);
}

TEST(StopTurnsTest, TheWaitEndsWithThePeriodAndLeavesTheLeast) {
  StopTurns turns(1, {0, 1});
  const SteadyTime begin = SteadyNow();
  turns.Await(1);
  EXPECT_GE(SteadyNow() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(turns.left_s(), kLeastGraceSeconds);
}

TEST(StopTurnsTest, TheGracePeriodIsShared) {
  StopTurns turns(600, {0});
  EXPECT_EQ(turns.left_s(), 600);
  turns.Hasten(30);
  EXPECT_EQ(turns.left_s(), 30);
  turns.Hasten(300);
  EXPECT_LE(turns.left_s(), 30) << "a longer period overtakes nothing";
}

TEST(StopTurnsTest, AShorterPeriodEndsAWait) {
  StopTurns turns(600, {0, 1});
  std::atomic<bool> waited = false;
  std::thread waits([&] {
    turns.Await(1);
    waited = true;
  });
  turns.Hasten(0);
  EXPECT_TRUE(WaitUntil([&] { return waited.load(); }));
  waits.join();
  EXPECT_EQ(turns.left_s(), 0);
}

TEST(StopTurnsTest, APeriodOfNothingHasNoOrder) {
  StopTurns turns(0, {0, 1});
  turns.Await(1);
  EXPECT_EQ(turns.left_s(), 0);
}

}  // namespace
}  // namespace plimsoll::pod
