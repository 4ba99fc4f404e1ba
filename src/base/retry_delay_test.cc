#include "base/retry_delay.h"

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(RetryDelayTest, DoublesUpToTheLongest) {
  RetryDelay waits(
      {.first = absl::Seconds(2), .longest = absl::Seconds(5), .jitter = [] { return 1.0; }});
  EXPECT_EQ(waits.Next(), absl::Seconds(2));
  EXPECT_EQ(waits.Next(), absl::Seconds(4));
  EXPECT_EQ(waits.Next(), absl::Seconds(5));
  EXPECT_EQ(waits.Next(), absl::Seconds(5));
  waits.Reset();
  EXPECT_EQ(waits.Next(), absl::Seconds(2));
}

TEST(RetryDelayTest, HalfOfAWaitIsRandom) {
  RetryDelay shortest({.first = absl::Seconds(2), .jitter = [] { return 0.0; }});
  EXPECT_EQ(shortest.Next(), absl::Seconds(1));
  RetryDelay random({.first = absl::Seconds(2), .longest = absl::Seconds(2)});
  bool differs = false;
  const absl::Duration first = random.Next();
  for (int i = 0; i < 20; ++i) {
    const absl::Duration wait = random.Next();
    EXPECT_GE(wait, absl::Seconds(1));
    EXPECT_LE(wait, absl::Seconds(2));
    differs = differs || wait != first;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace plimsoll
