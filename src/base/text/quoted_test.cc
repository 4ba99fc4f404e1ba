#include "base/text/quoted.h"

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(QuotedTest, ForeignTextStaysOnItsLine) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a b"), "\"a b\"");
  EXPECT_EQ(Quoted("a\nb\x1b[2J\xff"), R"("a\nb\x1b[2J\xff")");
}

TEST(QuotedTest, LongTextIsCutBeforeACharacter) {
  const std::string longest(80, 'x');
  EXPECT_EQ(Shorten(longest), longest);
  EXPECT_EQ(Shorten(longest + "y"), longest + "...");
  EXPECT_EQ(Quoted(longest + "y"), "\"" + longest + "...\"");
  EXPECT_EQ(Shorten(std::string(79, 'x') + "ä"), std::string(79, 'x') + "...");
  EXPECT_EQ(Shorten(std::string(90, '\x80')), "...") << "no character begins there";
}

}  // namespace
}  // namespace plimsoll
