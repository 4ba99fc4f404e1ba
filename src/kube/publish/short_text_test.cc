#include "kube/publish/short_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::kube {
namespace {

TEST(ShortText, LeavesShortTextsAsTheyAre) {
  EXPECT_EQ(ShortText("L3 0=0xff0; MB 0=50", 200), "L3 0=0xff0; MB 0=50");
  EXPECT_EQ(ShortText("", 10), "");
  EXPECT_EQ(ShortText("0123456789", 10), "0123456789");
}

TEST(ShortText, CutsBetweenCharacters) {
  EXPECT_EQ(ShortText("0123456789a", 10), "0123456...");
  // "é" has two bytes: the seventh byte is in the middle of one.
  EXPECT_EQ(ShortText("ééééééééé", 10), "ééé...");
}

TEST(ShortText, IsAlwaysValidJson) {
  for (const std::string& bad : {std::string("a\nb\x1b"), std::string("\xff\xfe\xc3"),
                                 std::string(300, '\x80'), std::string("\0x", 2)}) {
    for (const size_t longest : {1u, 3u, 5u, 100u}) {
      const std::string text = ShortText(bad, longest);
      EXPECT_NO_THROW((void)nlohmann::json(text).dump());
      EXPECT_LE(text.size(), std::max<size_t>(longest, 3));
    }
  }
}

TEST(ShortText, FirstFewSaysHowManyMoreThereAre) {
  EXPECT_EQ(FirstFew({}, 3), "");
  EXPECT_EQ(FirstFew({"a", "b"}, 2), "a; b");
  EXPECT_EQ(FirstFew({"a", "b", "c", "d"}, 2), "a; b; and 2 more");
}

}  // namespace
}  // namespace plimsoll::kube
