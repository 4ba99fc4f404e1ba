#include "agent/pods/life/back_off.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(BackOffTest, AFirstAttemptWaitsForNothing) {
  const BackOff back_off;
  EXPECT_EQ(back_off.NotBefore("a", kStart), kStart);
  EXPECT_EQ(back_off.Pause("a"), absl::ZeroDuration());
}

TEST(BackOffTest, EachPauseIsTwiceTheLastUpToTheLongest) {
  BackOff back_off;
  absl::Time ended = kStart;
  for (const int seconds : {10, 20, 40, 80, 160, 300, 300}) {
    back_off.OnAttempt("a", ended);
    EXPECT_EQ(back_off.Pause("a"), absl::Seconds(seconds));
    ended = back_off.NotBefore("a", ended) + absl::Seconds(1);
  }
  EXPECT_EQ(back_off.Pause("b"), absl::ZeroDuration());
}

TEST(BackOffTest, ResumeGoesOnAsIfItHadCounted) {
  BackOff counted;
  absl::Time ended = kStart;
  for (uint32_t attempts = 1; attempts < 9; ++attempts) {
    counted.OnAttempt("a", ended);
    BackOff resumed;
    resumed.Resume("a", attempts, ended);
    ended = counted.NotBefore("a", ended) + absl::Seconds(1);
    EXPECT_EQ(resumed.Pause("a"), counted.Pause("a"));
    EXPECT_EQ(resumed.NotBefore("a", ended), counted.NotBefore("a", ended));
    const absl::Time after_a_long_run = ended + 3 * BackOff::kLongest;
    EXPECT_EQ(resumed.NotBefore("a", after_a_long_run), after_a_long_run);
  }
}

TEST(BackOffTest, ALongRunStartsOver) {
  BackOff back_off;
  back_off.OnAttempt("a", kStart);
  back_off.OnAttempt("a", kStart + absl::Seconds(20));
  const absl::Time ended = kStart + absl::Seconds(21) + 2 * BackOff::kLongest;
  EXPECT_EQ(back_off.NotBefore("a", ended), ended);
  back_off.OnAttempt("a", ended);
  EXPECT_EQ(back_off.Pause("a"), BackOff::kFirst);
}

TEST(BackOffTest, AForgottenNameStartsOver) {
  BackOff back_off;
  back_off.OnAttempt("a", kStart);
  back_off.Forget("a");
  EXPECT_EQ(back_off.NotBefore("a", kStart), kStart);
}

}  // namespace
}  // namespace plimsoll::agent
