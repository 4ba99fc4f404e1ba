#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

TEST(CpuWeight, FollowsTheKepFormula) {
  EXPECT_EQ(CpuSharesToWeight(2), 1u);
  EXPECT_EQ(CpuSharesToWeight(102), 4u);
  EXPECT_EQ(CpuSharesToWeight(1024), 39u);
  EXPECT_EQ(CpuSharesToWeight(262144), 10000u);
  EXPECT_EQ(CpuWeightToShares(1), 2u);
  EXPECT_EQ(CpuWeightToShares(10000), 262144u);
}

TEST(CpuWeight, OutOfRangeIsClamped) {
  EXPECT_EQ(CpuSharesToWeight(0), 1u);
  EXPECT_EQ(CpuSharesToWeight(1'000'000), 10000u);
  EXPECT_EQ(CpuWeightToShares(0), 2u);
  EXPECT_EQ(CpuWeightToShares(20000), 262144u);
}

TEST(CpuWeight, EveryWeightSurvivesBeingReadAndWritten) {
  for (uint64_t weight = 1; weight <= 10000; ++weight) {
    ASSERT_EQ(CpuSharesToWeight(CpuWeightToShares(weight)), weight);
  }
}

}  // namespace
}  // namespace plimsoll::linux
