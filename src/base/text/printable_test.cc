#include "base/text/printable.h"

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(PrintableTest, ControlCharactersAreEscapedAndNothingElse) {
  EXPECT_EQ(Printable("gold \"a\\b\" \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gold \"a\\b\" \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(Printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(Printable(absl::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the one-character form of ESC [";
  EXPECT_EQ(Printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(Printable(""), "");
}

TEST(PrintableTest, BytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("a\xc3"), "a\\xc3");
  EXPECT_EQ(Printable("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(Printable("\xc0\x9b"), "\\xc0\\x9b");
}

}  // namespace
}  // namespace plimsoll
