#include "base/text/utf8.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Utf8, Characters) {
  for (const char* text :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(WithValidUtf8(text), text);
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
}

TEST(Utf8, OtherBytes) {
  for (const char* bytes :
       {"\x80", "\xff", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2(", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(bytes)) << bytes;
    EXPECT_TRUE(IsUtf8(WithValidUtf8(bytes))) << bytes;
  }
  EXPECT_EQ(WithValidUtf8("a\xff\xc3\xa4\xe2\x82z"),
            "a\xEF\xBF\xBD\xc3\xa4\xEF\xBF\xBD\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace plimsoll
