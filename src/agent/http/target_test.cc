#include "agent/http/target.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Target, IsReadAsWords) {
  const auto target = ParseTarget("/api/v1/pods?watch=true&command=ls+-l&command=%2fa%26b&empty");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->path, ElementsAre("api", "v1", "pods"));
  EXPECT_THAT(target->query, ElementsAre(Pair("watch", "true"), Pair("command", "ls -l"),
                                         Pair("command", "/a&b"), Pair("empty", "")));
  EXPECT_THAT(ParseTarget("/")->path, IsEmpty());
  EXPECT_THAT(ParseTarget("/a?")->query, IsEmpty());
}

TEST(Target, APathsPlusIsAPlus) {
  EXPECT_THAT(ParseTarget("/a+b%2Fc")->path, ElementsAre("a+b/c"));
}

TEST(Target, IsWrittenAsItIsRead) {
  const Target target = {{"api", "a/b c+d%", "\xc3\xa4"},
                         {{"x", "1&2=3 +"}, {"y", ""}, {"x", "?"}}};
  const auto again = ParseTarget(FormatTarget(target));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, target);
  EXPECT_EQ(FormatTarget({}), "/");
}

TEST(Target, FaultsAreNamed) {
  for (const char* text :
       {"", "api", "*", "http://host/a", "//", "/a//b", "/a/", "/a/../b", "/.", "/%2e%2e/a", "/a%",
        "/a%2", "/a%zz", "/a?b=%", "/a%00", "/a%0a", "/a?b=%00"}) {
    const auto target = ParseTarget(text);
    EXPECT_TRUE(absl::IsInvalidArgument(target.status())) << text;
    EXPECT_THAT(std::string(target.status().message()), HasSubstr("request target \""));
  }
}

}  // namespace
}  // namespace plimsoll::agent
