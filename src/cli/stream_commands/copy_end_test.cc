#include "cli/stream_commands/copy_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(CopyEndTest, AContainersPathIsAfterTheFirstColon) {
  EXPECT_EQ(ParseCopyEnd("web/app:/a:b").container, "web/app");
  EXPECT_EQ(ParseCopyEnd("web/app:/a:b").path, "/a:b");
  EXPECT_EQ(ParseCopyEnd("web:relative").path, "relative");
}

TEST(CopyEndTest, AFileHereMayHaveAColonInItsName) {
  for (const char* here : {"/a:b", "./a:b", "../a:b", "plain", ":b", "."}) {
    EXPECT_EQ(ParseCopyEnd(here).container, "") << here;
    EXPECT_EQ(ParseCopyEnd(here).path, here);
  }
}

TEST(CopyEndTest, OnlyADashAloneIsAStream) {
  EXPECT_TRUE(ParseCopyEnd("-").is_stream());
  EXPECT_FALSE(ParseCopyEnd("web:-").is_stream());
  EXPECT_FALSE(ParseCopyEnd("./-").is_stream());
}

TEST(CopyEndTest, ExactlyOneIsAContainers) {
  const auto good = ParseCopyEnds("web:/a", "-");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE(good->from_container());
  EXPECT_EQ(good->inside().path, "/a");
  EXPECT_FALSE(ParseCopyEnds("-", "web:/a")->from_container());

  const auto both = ParseCopyEnds("web:/a", "db:/a");
  EXPECT_TRUE(IsUsageError(both.status()));
  EXPECT_THAT(HintOf(both.status()), HasSubstr("| plimsoll cp - B:DIR"));
  EXPECT_TRUE(IsUsageError(ParseCopyEnds("a", "b").status()));
  EXPECT_TRUE(IsUsageError(ParseCopyEnds("-", "-").status()));
  EXPECT_TRUE(IsUsageError(ParseCopyEnds("web:", "b").status()));
  EXPECT_TRUE(IsUsageError(ParseCopyEnds("", "web:/b").status()));
}

}  // namespace
}  // namespace plimsoll::cli
