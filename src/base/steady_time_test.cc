#include "base/steady_time.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(SteadyTimeTest, IsFromNowOn) {
  const SteadyTime before = SteadyNow();
  const SteadyTime end = SteadyAfter(absl::Hours(1));
  EXPECT_GE(end, before + std::chrono::hours(1));
  EXPECT_LE(end, SteadyNow() + std::chrono::hours(1));
  const absl::Duration left = TimeUntil(end);
  EXPECT_LE(left, absl::Hours(1));
  EXPECT_GT(left, absl::ZeroDuration());
  EXPECT_LT(TimeUntil(before - std::chrono::seconds(1)), absl::ZeroDuration());
}

// CRI clients give a timeout as any number of seconds.
TEST(SteadyTimeTest, WhatTheClockHasNoNumberForNeverComes) {
  for (const absl::Duration wait :
       {absl::InfiniteDuration(), absl::Seconds(std::numeric_limits<int64_t>::max()),
        absl::Hours(24 * 366 * 300)}) {
    EXPECT_EQ(SteadyAfter(wait), kNever) << wait;
  }
  EXPECT_LT(SteadyAfter(absl::Hours(24 * 365 * 100)), kNever);
  EXPECT_EQ(TimeUntil(kNever), absl::InfiniteDuration());
}

}  // namespace
}  // namespace plimsoll
