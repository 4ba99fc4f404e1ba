#include "base/byte_budget.h"

#include <memory>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(ByteBudgetTest, GivesWhatIsLeftAndTakesItBackWithTheShare) {
  const auto budget = std::make_shared<ByteBudget>(100);
  {
    ByteShare first(budget);
    EXPECT_EQ(first.Take(70), 70u);
    ByteShare second(budget);
    EXPECT_EQ(second.Take(70), 30u);
    EXPECT_EQ(second.Take(1), 0u);
    first.ShrinkTo(60);
    EXPECT_EQ(second.Take(70), 10u);
    EXPECT_EQ(first.bytes() + second.bytes(), 100u);
  }
  EXPECT_EQ(budget->left(), 100);
}

TEST(ByteBudgetTest, OverdrawnItGivesNothingUntilItIsEven) {
  const auto budget = std::make_shared<ByteBudget>(10);
  ByteShare share(budget);
  {
    ByteShare must(budget);
    must.Overdraw(30);
    EXPECT_EQ(budget->left(), -20);
    EXPECT_EQ(share.Take(1), 0u);
  }
  EXPECT_EQ(share.Take(11), 10u);
}

}  // namespace
}  // namespace plimsoll
