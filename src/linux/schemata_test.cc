#include "linux/schemata.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SchemataTest, ReadsWhatKernelsWrite) {
  const auto schemata = ParseSchemata("    MB:0= 50;1=100\nL3CODE:0=0ff;1=ff0\nL3DATA:0=1;1=2\n");
  ASSERT_TRUE(schemata.ok()) << schemata.status();
  EXPECT_EQ(*schemata, (Schemata{{"MB", {{0, 50}, {1, 100}}},
                                 {"L3CODE", {{0, 0xff}, {1, 0xff0}}},
                                 {"L3DATA", {{0, 1}, {1, 2}}}}));
  EXPECT_EQ(SchemataText(*schemata), "L3CODE:0=ff;1=ff0\nL3DATA:0=1;1=2\nMB:0=50;1=100\n");
  EXPECT_EQ(*ParseSchemata(SchemataText(*schemata)), *schemata);
  EXPECT_TRUE(ParseSchemata("")->empty());
}

TEST(SchemataTest, RefusesOtherText) {
  for (const char* text : {"L3", ":0=f", "L3:", "L3:0", "L3:0=", "L3:0=xyz", "MB:0=ff", "L3:a=f"}) {
    const auto schemata = ParseSchemata(text);
    EXPECT_THAT(schemata.status().message(), HasSubstr("not understood")) << text;
  }
}

TEST(SchemataTest, SaysWhatDiffers) {
  const Schemata wanted = {{"L3", {{0, 0xf0}, {1, 0xf0}}}, {"MB", {{0, 50}}}};
  EXPECT_THAT(
      SchemataDifferences(
          wanted, {{"L3", {{0, 0xf0}, {1, 0xf0}}}, {"MB", {{0, 50}, {1, 20}}}, {"L2", {{0, 1}}}}),
      IsEmpty());
  EXPECT_THAT(
      SchemataDifferences(wanted, {{"L3", {{0, 0xf0}, {1, 0xf}}}, {"MB", {{0, 60}}}}),
      ElementsAre("L3 of cache 1 is 0xf, should be 0xf0", "MB of cache 0 is 60, should be 50"));
  EXPECT_THAT(SchemataDifferences(wanted, {{"L3", {{0, 0xf0}}}}),
              ElementsAre("L3 of cache 1 is not there", "MB of cache 0 is not there"));
}

}  // namespace
}  // namespace plimsoll::linux
