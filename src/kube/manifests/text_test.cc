#include "kube/manifests/text.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::kube {
namespace {

TEST(ManifestText, LiteralsHoldNothingThatEndsThem) {
  EXPECT_EQ(CelString("gold"), "'gold'");
  EXPECT_EQ(CelString("it's\\"), "'it\\'s\\\\'");
  EXPECT_EQ(CelString("a\nb"), "'a\\u000ab'");
  EXPECT_EQ(CelString(std::string("\0", 1)), "'\\u0000'");
  EXPECT_EQ(CelString("\xc3\xbc"), "'\\u00c3\\u00bc'");
  EXPECT_EQ(CelList({}), "[]");
  EXPECT_EQ(CelList({"a", "b'"}), "['a', 'b\\'']");
}

TEST(ManifestText, MapsNest) {
  EXPECT_EQ(CelMap({}), "{}");
  EXPECT_EQ(CelMap({{"a", "1"}, {"b", CelMap({{"c", "2"}})}}),
            "{\n"
            "  'a': 1,\n"
            "  'b': {\n"
            "    'c': 2}}");
}

TEST(ManifestText, ValuesTakeTheIndentOfTheirHole) {
  EXPECT_EQ(Fill("a:\n  @list@\nb: @one@ @one@\n", {{"list", "- 1\n- 2\n"}, {"one", "x"}}),
            "a:\n  - 1\n  - 2\nb: x x\n");
  EXPECT_EQ(Fill("@a@", {{"a", "@b@"}, {"b", "c"}}), "@b@") << "a value was filled";
  EXPECT_EQ(Fill("@a@", {}), "@a@");
}

}  // namespace
}  // namespace plimsoll::kube
