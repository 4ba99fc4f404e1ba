#include "resctrlfs/layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/fake_tree.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const char* json) {
  return ParseLayout(json).status().ToString();
}

TEST(LayoutTest, ReadsWhatItIsGivenAndKeepsTheRest) {
  const absl::StatusOr<Layout> layout = ParseLayout(R"({"cpus": 4, "caches": [
      {"level": 2, "ids": [0, 1, 5], "mask_bits": 8, "shareable_bits": "c0"}],
      "options": ["cdpl2", "debug"]})");
  ASSERT_TRUE(layout.ok()) << layout.status();
  ASSERT_EQ(layout->caches.size(), 1U);
  EXPECT_THAT(layout->caches[0].ids, ElementsAre(0, 1, 5));
  EXPECT_EQ(layout->caches[0].shareable_bits, 0xc0U);
  EXPECT_EQ(layout->caches[0].closids, 16);
  EXPECT_TRUE(layout->options.cdpl2);
  EXPECT_FALSE(layout->options.cdp);
  EXPECT_FALSE(layout->monitoring.has_value());
  EXPECT_EQ(ShowMountOptions(layout->options), ",cdpl2,debug");
}

TEST(LayoutTest, IsTheSameAfterWritingAndReading) {
  Layout layout = TwoSockets();
  layout.options.mba_mbps = true;
  layout.traits.padded_values = true;
  layout.caches[0].shareable_bits = 0xc0000;
  const std::string json = LayoutToJson(layout);
  const absl::StatusOr<Layout> again = ParseLayout(json);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(LayoutToJson(*again), json);
}

TEST(LayoutTest, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("parse error"));
  EXPECT_THAT(ErrorOf(R"({"cashes": []})"), HasSubstr("no key \"cashes\"; known: bandwidth"));
  EXPECT_THAT(ErrorOf(R"({"caches": [{"ids": [2, 0]}]})"), HasSubstr("ids of L3"));
  EXPECT_THAT(ErrorOf(R"({"caches": [{"mask_bits": 33}]})"), HasSubstr("mask_bits"));
  EXPECT_THAT(ErrorOf(R"({"caches": [{}, {}]})"), HasSubstr("two caches of level 3"));
  EXPECT_THAT(ErrorOf(R"({"options": ["CDP"]})"), HasSubstr("no mount option \"CDP\""));
  EXPECT_THAT(ErrorOf(R"({"options": ["cdpl2"]})"), HasSubstr("CDP without an L2 cache"));
  EXPECT_THAT(ErrorOf(R"({"options": ["mba_MBps"]})"), HasSubstr("mba_MBps needs"));
  EXPECT_THAT(ErrorOf(R"({"caches": []})"), HasSubstr("nothing to control"));
}

}  // namespace
}  // namespace plimsoll::resctrlfs
