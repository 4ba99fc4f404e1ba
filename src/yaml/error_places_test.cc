#include "yaml/error_places.h"

#include "base/text/problems.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

TEST(ErrorPlacesTest, ErrorsComeInTheOrderOfLines) {
  EXPECT_THAT(InOrderOfLines({"f:10:1: late", "f:9:7: one", "f:9:2: other", "no place", "f:x: odd",
                              kFurtherProblems},
                             "f"),
              ElementsAre("no place", "f:x: odd", "f:9:7: one", "f:9:2: other", "f:10:1: late",
                          kFurtherProblems));
  EXPECT_THAT(InOrderOfLines({}, "f"), ElementsAre());
}

}  // namespace
}  // namespace plimsoll
