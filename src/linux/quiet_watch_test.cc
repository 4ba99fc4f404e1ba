#include "linux/quiet_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/no_descriptors_for_test.h"
#include "base/status.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kMs = absl::Milliseconds(1);

TEST(BurstTest, IsOverAfterQuiet) {
  Burst burst(15 * kMs, 1000 * kMs);
  EXPECT_TRUE(burst.Empty());
  EXPECT_EQ(burst.Over(), absl::InfiniteFuture());
  // 64 CPUs come online so: an event each 8 ms.
  for (int i = 0; i < 64; ++i) {
    const absl::Time now = kStart + i * 8 * kMs;
    EXPECT_GT(burst.Over(), now) << "event " << i << " is of the same burst";
    burst.Add(now);
  }
  EXPECT_EQ(burst.Over(), kStart + 63 * 8 * kMs + 15 * kMs);
  burst.Clear();
  EXPECT_TRUE(burst.Empty());
}

TEST(BurstTest, ThatNeverRestsEndsAllTheSame) {
  Burst burst(15 * kMs, 100 * kMs);
  for (int i = 0; i < 50; ++i) burst.Add(kStart + i * 10 * kMs);
  EXPECT_EQ(burst.Over(), kStart + 100 * kMs);
}

TEST(BurstTest, ThatIsHeldIsNotOver) {
  Burst burst(15 * kMs, 100 * kMs);
  burst.Add(kStart);
  burst.Hold(kStart + 200 * kMs);
  EXPECT_EQ(burst.Over(), kStart + 200 * kMs);
  EXPECT_EQ(burst.first(), kStart);
  burst.Clear();
  EXPECT_TRUE(burst.Empty());
  burst.Add(kStart);
  EXPECT_EQ(burst.Over(), kStart + 15 * kMs);
}

class QuietWatchTest : public ::testing::Test {
 protected:
  QuietWatchTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out_ = UniqueFd(ends[0]);
    in_ = UniqueFd(ends[1]);
  }
  absl::Status Start(QuietWatch::Options options, absl::Duration again) {
    auto watch = QuietWatch::Start(options,
                                   {{},
                                    {.fd = out_.get(),
                                     .events = POLLIN,
                                     .heard =
                                         [this](short) {
                                           char text[64];
                                           const ssize_t n = read(out_.get(), text, sizeof(text));
                                           return n > 0 && text[0] != 'x';
                                         }}},
                                   [this, again] {
                                     absl::MutexLock lock(&mutex_);
                                     ++told_;
                                     return absl::Now() + again;
                                   });
    PLIMSOLL_RETURN_IF_ERROR(watch.status());
    watch_ = *std::move(watch);
    return absl::OkStatus();
  }
  void Send(const char* text) { EXPECT_EQ(write(in_.get(), text, 1), 1); }
  bool AwaitTold(int count) {
    const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return told_ >= count; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(1));
  }
  int told() {
    absl::MutexLock lock(&mutex_);
    return told_;
  }

  UniqueFd out_;
  UniqueFd in_;
  absl::Mutex mutex_;
  int told_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<QuietWatch> watch_;
};

TEST_F(QuietWatchTest, TellsOfWhatItHeardAndGoesOn) {
  ASSERT_TRUE(Start({.quiet = kMs}, absl::InfiniteDuration()).ok());
  Send("a");
  ASSERT_TRUE(AwaitTold(1));
  Send("a");
  ASSERT_TRUE(AwaitTold(2));
}

// The watch hears all of it before it reports, however late its thread runs.
TEST_F(QuietWatchTest, WhatIsThereAtOnceIsOne) {
  for (int i = 0; i < 64; ++i) Send("a");
  ASSERT_TRUE(Start({.quiet = 20 * kMs}, absl::InfiniteDuration()).ok());
  ASSERT_TRUE(AwaitTold(1));
  watch_.reset();
  EXPECT_EQ(told(), 1);
}

TEST_F(QuietWatchTest, WaitsWhileMoreIsToCome) {
  int asked = 0;
  ASSERT_TRUE(Start({.quiet = kMs,
                     .at_most = kMs,
                     .more_to_come = [&asked] { return ++asked < 5; },
                     .wait_at_most = absl::Hours(1)},
                    absl::InfiniteDuration())
                  .ok());
  Send("a");
  ASSERT_TRUE(AwaitTold(1));
  watch_.reset();
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(told(), 1);
}

TEST_F(QuietWatchTest, WaitsForMoreNoLongerThanItMay) {
  ASSERT_TRUE(Start({.quiet = kMs, .more_to_come = [] { return true; }, .wait_at_most = 20 * kMs},
                    absl::InfiniteDuration())
                  .ok());
  Send("a");
  EXPECT_TRUE(AwaitTold(1));
}

// Nobody asks for more events of a burst that hasn't begun.
TEST_F(QuietWatchTest, WhatIsDueWaitsForNothing) {
  ASSERT_TRUE(Start({.quiet = kMs,
                     .first = absl::Now() + kMs,
                     .more_to_come = [] { return true; },
                     .wait_at_most = absl::Hours(1)},
                    kMs)
                  .ok());
  EXPECT_TRUE(AwaitTold(3));
}

TEST_F(QuietWatchTest, TellsWhenItWasAskedTo) {
  ASSERT_TRUE(Start({.first = absl::Now() + kMs}, kMs).ok());
  EXPECT_TRUE(AwaitTold(5));
}

TEST_F(QuietWatchTest, WhatIsNoEventIsNotTold) {
  ASSERT_TRUE(
      Start({.quiet = kMs, .first = absl::Now() + 50 * kMs}, absl::InfiniteDuration()).ok());
  Send("x");
  ASSERT_TRUE(AwaitTold(1));
  watch_.reset();
  EXPECT_EQ(told(), 1) << "at the time asked for, and for no event";
}

TEST_F(QuietWatchTest, OutlivesALackOfDescriptors) {
  ASSERT_TRUE(Start({.quiet = kMs, .first = absl::Now()}, kMs).ok());
  ASSERT_TRUE(AwaitTold(1));
  {
    NoDescriptors none;
    ASSERT_TRUE(AwaitTold(told() + 2)) << "poll(2) fails, time goes on";
  }
  Send("a");
  ASSERT_TRUE(AwaitTold(told() + 1));
}

TEST_F(QuietWatchTest, EndsAtOnce) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Start({}, absl::InfiniteDuration()).ok());
}

}  // namespace
}  // namespace plimsoll::linux
