#include "pod_runner/slow_stops.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlowStopsTest, NamesThoseThatHaveBegunAndNotEndedOnce) {
  SlowStops slow(3);
  slow.Begin("b");
  slow.Begin("a");
  slow.Begin("ended");
  slow.End("ended");
  EXPECT_EQ(slow.left(), 2u);
  EXPECT_THAT(slow.Take(absl::Hours(1)), IsEmpty());
  EXPECT_THAT(slow.Take(absl::ZeroDuration()), ElementsAre("a", "b"));
  EXPECT_THAT(slow.Take(absl::ZeroDuration()), IsEmpty());
  slow.End("a");
  slow.End("b");
  EXPECT_EQ(slow.left(), 0u);
}

TEST(SlowStopsTest, OneThatBeginsLaterIsNamedLater) {
  SlowStops slow(2);
  slow.Begin("main");
  EXPECT_THAT(slow.Take(absl::ZeroDuration()), ElementsAre("main"));
  slow.End("main");
  slow.Begin("side");
  EXPECT_THAT(slow.Take(absl::ZeroDuration()), ElementsAre("side"));
}

}  // namespace
}  // namespace plimsoll::pod
