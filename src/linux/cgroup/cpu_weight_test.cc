#include "linux/cgroup/cpu_weight.h"

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

// The weights that crun 1.8.1 and 1.21, runc 1.1.5 and 1.1.15 wrote, then those of crun 1.28 and
// runc 1.3.6.
TEST(CpuWeight, FollowsBothFormulas) {
  struct Row {
    uint64_t shares;
    uint64_t linear;
    uint64_t quadratic;
  };
  for (const Row& row : {Row{2, 1, 1},
                         {3, 1, 2},
                         {10, 1, 4},
                         {20, 1, 6},
                         {100, 4, 17},
                         {256, 10, 35},
                         {512, 20, 59},
                         {1000, 39, 99},
                         {1024, 39, 100},
                         {2000, 77, 170},
                         {2048, 79, 174},
                         {8192, 313, 532},
                         {65536, 2500, 3023},
                         {262143, 9999, 10000},
                         {262144, 10000, 10000}}) {
    EXPECT_EQ(CpuSharesToWeight(row.shares, CpuWeightFormula::kLinear), row.linear) << row.shares;
    EXPECT_EQ(CpuSharesToWeight(row.shares, CpuWeightFormula::kQuadratic), row.quadratic)
        << row.shares;
    EXPECT_TRUE(IsCpuWeightOf(row.linear, row.shares));
    EXPECT_TRUE(IsCpuWeightOf(row.quadratic, row.shares));
    EXPECT_FALSE(IsCpuWeightOf(row.quadratic + 1, row.shares));
    EXPECT_EQ(CpuSharesToWeight(SharesToApply(row.shares, CpuWeightFormula::kQuadratic)),
              row.quadratic);
    EXPECT_EQ(CpuSharesToWeight(SharesToApply(row.shares, CpuWeightFormula::kLinear)), row.linear);
  }
}

TEST(CpuWeight, TheQuadraticFormulaIsClampedToo) {
  EXPECT_EQ(CpuSharesToWeight(0, CpuWeightFormula::kQuadratic), 1u);
  EXPECT_EQ(CpuSharesToWeight(1'000'000, CpuWeightFormula::kQuadratic), 10000u);
  EXPECT_EQ(CpuWeightToShares(0, CpuWeightFormula::kQuadratic), 2u);
  EXPECT_EQ(CpuWeightToShares(20000, CpuWeightFormula::kQuadratic), 262115u);
}

TEST(CpuWeight, EveryWeightHasLeastSharesByEitherFormula) {
  for (const auto formula : {CpuWeightFormula::kLinear, CpuWeightFormula::kQuadratic}) {
    for (uint64_t weight = 1; weight <= 10000; ++weight) {
      const uint64_t shares = CpuWeightToShares(weight, formula);
      ASSERT_EQ(CpuSharesToWeight(shares, formula), weight);
      if (shares > 2) {
        ASSERT_LT(CpuSharesToWeight(shares - 1, formula), weight);
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::linux
