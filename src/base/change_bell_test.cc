#include "base/change_bell.h"

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(ChangeBellTest, RingsForTheListenerOfTheMoment) {
  const ChangeBell silent;
  silent.Ring();  // nobody listens
  ChangeBell bell;
  int first = 0;
  int second = 0;
  bell.Ring();
  bell.Listen([&] { ++first; });
  bell.Ring();
  bell.Ring();
  bell.Listen([&] { ++second; });
  bell.Ring();
  bell.Listen(nullptr);
  bell.Ring();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 1);
}

}  // namespace
}  // namespace plimsoll
