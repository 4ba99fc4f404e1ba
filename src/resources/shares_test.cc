#include "resources/shares.h"

#include "gtest/gtest.h"

namespace plimsoll::resources {
namespace {

// 1024 shares are weight 39 or 100. The least shares of those are 999 and 2598 by the linear
// formula, 295 and 1012 by the quadratic one.
TEST(Shares, MayBeReportedByEitherFormula) {
  EXPECT_TRUE(MayBeReported(1024, 1024));
  for (const uint64_t reported : {294, 295, 998, 999, 1011, 1012, 2597, 2598}) {
    EXPECT_TRUE(MayBeReported(reported, 1024)) << reported;
  }
  for (const uint64_t reported : {512, 1023, 1025, 2048, 2600}) {
    EXPECT_FALSE(MayBeReported(reported, 1024)) << reported;
  }
}

// The linear formula makes weight 1 of both, the quadratic one 4 and 6.
TEST(Shares, OtherSharesAreNotReportedBecauseOneFormulaCantTellThem) {
  EXPECT_FALSE(MayBeReported(10, 20));
  EXPECT_FALSE(MayBeReported(20, 10));
  EXPECT_TRUE(MayBeReported(2, 20)) << "the linear formula's least shares of weight 1";
}

}  // namespace
}  // namespace plimsoll::resources
