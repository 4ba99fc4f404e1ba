#include "agent/counters/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr CounterKind kPlain = {"plain_total", "Help."};
constexpr CounterKind kLabelled = {"labelled_total", "Help.", "a", "b"};
constexpr double kBounds[] = {0.1, 1};
constexpr TimerKind kTimer = {{"timer_seconds", "Help.", "a"}, kBounds};

TEST(CountersTest, CountsAddUpByLabels) {
  Counters counters;
  counters.Add(kPlain, {}, 0);
  counters.Add(kLabelled, {"x", "y"});
  counters.Add(kLabelled, {"x", "z"});
  counters.Add(kLabelled, {"x", "y"}, 2);
  const auto counts = counters.Counts();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_STREQ(counts[0].kind.name, "labelled_total");
  EXPECT_THAT(counts[0].values, ElementsAre(Pair(Counters::Labels{"x", "y"}, 3u),
                                            Pair(Counters::Labels{"x", "z"}, 1u)));
  EXPECT_THAT(counts[1].values, ElementsAre(Pair(Counters::Labels{}, 0u)));
}

TEST(CountersTest, TimesFallBelowTheirBounds) {
  Counters counters;
  for (const double seconds : {0.05, 0.1, 0.5, 20.0}) {
    counters.AddTime(kTimer, {"x"}, absl::Seconds(seconds));
  }
  const auto times = counters.AllTimes();
  ASSERT_EQ(times.size(), 1u);
  const Counters::Histogram& histogram = times[0].values.at({"x"});
  EXPECT_THAT(histogram.counts, ElementsAre(2, 1, 1));
  EXPECT_EQ(histogram.count, 4u);
  EXPECT_DOUBLE_EQ(histogram.sum, 20.65);
}

TEST(CountersTest, TooManyLabelsAreOthers) {
  Counters counters;
  for (size_t i = 0; i < 2 * Counters::kMostSeries; ++i) {
    counters.Add(kLabelled, {std::to_string(i), "y"});
    counters.AddTime(kTimer, {std::to_string(i)}, absl::Seconds(1));
  }
  const auto counts = counters.Counts();
  EXPECT_EQ(counts[0].values.size(), Counters::kMostSeries + 1);
  EXPECT_EQ(counts[0].values.at({Counters::kOther, Counters::kOther}), Counters::kMostSeries);
  const auto times = counters.AllTimes();
  EXPECT_EQ(times[0].values.size(), Counters::kMostSeries + 1);
  EXPECT_EQ(times[0].values.at({Counters::kOther, ""}).count, Counters::kMostSeries);
  // A series that is there goes on.
  counters.Add(kLabelled, {"0", "y"});
  EXPECT_EQ(counters.Counts()[0].values.at({"0", "y"}), 2u);
}

}  // namespace
}  // namespace plimsoll::agent
