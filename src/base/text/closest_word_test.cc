#include "base/text/closest_word.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(ClosestWord, SuggestionsAreNearOrNone) {
  const std::vector<std::string> known = {"containers", "initContainers", "volumes", "hostNetwork"};
  EXPECT_EQ(ClosestWord("container", known), "containers");
  EXPECT_EQ(ClosestWord("hostnetwork", known), "hostNetwork");
  EXPECT_EQ(ClosestWord("initcontaner", known), "initContainers");
  EXPECT_EQ(ClosestWord("affinity", known), "");
  EXPECT_EQ(ClosestWord("x", {"ps"}), "");
}

TEST(ClosestWord, ShortWordsMustBeNearer) {
  EXPECT_EQ(ClosestWord("foo", {"oom", "rdt"}), "");
  EXPECT_EQ(ClosestWord("oo", {"oom"}), "oom");
  EXPECT_EQ(ClosestWord("pss", {"run", "ps"}), "ps");
  EXPECT_EQ(ClosestWord("glod", {"silver", "gold"}), "gold") << "neighbours exchanged";
  EXPECT_EQ(ClosestWord("rnu", {"run"}), "run");
}

}  // namespace
}  // namespace plimsoll
