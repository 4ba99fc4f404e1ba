#include "yaml/error_places.h"

#include "base/problems.h"
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

TEST(ErrorPlacesTest, ATextThatNobodyWroteHasNoPlaces) {
  const absl::Status status =
      WithoutPlaces(absl::InvalidArgumentError(
                        "pod d/w:1:20: spec.x: wrong\npod d/w: two\npod d/w:1: half\nf:1:2: "
                        "another's"),
                    "pod d/w");
  EXPECT_EQ(status, absl::InvalidArgumentError(
                        "pod d/w: spec.x: wrong\npod d/w: two\npod d/w:1: half\nf:1:2: another's"));
  EXPECT_TRUE(WithoutPlaces(absl::OkStatus(), "pod d/w").ok());
}

}  // namespace
}  // namespace plimsoll
