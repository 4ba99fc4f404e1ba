#include "qos/rdt/mask.h"

#include <algorithm>
#include <bit>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/values.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

uint64_t Overlay(const char* share, uint64_t base, uint64_t min_bits = 1) {
  const auto mask = OverlayCache(*ParseRdtCacheShare(share), base, min_bits, false);
  EXPECT_TRUE(mask.ok()) << share << ": " << mask.status();
  return mask.value_or(0);
}

TEST(RdtMaskTest, PartitionsArePackedFromTheLowestWay) {
  EXPECT_THAT(*DivideCache({60, 40}, 0xfffff, 1), ElementsAre(0xfff, 0xff000));
  EXPECT_THAT(*DivideCache({40, 60}, 0xfffff, 1), ElementsAre(0xff, 0xfff00));
  EXPECT_THAT(*DivideCache({100}, 0x7ff, 1), ElementsAre(0x7ff));
  // Ways that nobody asks for stay free, at the top.
  EXPECT_THAT(*DivideCache({25, 25}, 0xff, 1), ElementsAre(0x3, 0xc));
}

TEST(RdtMaskTest, TheSmallestIsGrantedFirstAndTheLastTakesTheRest) {
  // 1% of 10 ways is none: it gets one, taken from the others.
  EXPECT_THAT(*DivideCache({50, 1, 49}, 0x3ff, 1), ElementsAre(0x1f, 0x20, 0x3c0));
  EXPECT_THAT(*DivideCache({50, 1, 49}, 0x3ff, 2), ElementsAre(0xf, 0x30, 0x3c0));
  // Equal shares in order; the second takes the odd way.
  EXPECT_THAT(*DivideCache({50, 50}, 0x7ff, 1), ElementsAre(0x1f, 0x7e0));
}

TEST(RdtMaskTest, TooFewWaysAreAnError) {
  const auto masks = DivideCache({30, 30, 40}, 0xf, 2);
  EXPECT_EQ(masks.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(masks.status().message(),
              HasSubstr("100% of 4 ways are 4, too few for 3 partitions of at least 2"));
  EXPECT_FALSE(DivideCache({1}, 0xff, 1).ok());
}

TEST(RdtMaskTest, ClassesOverlayTheirPartition) {
  EXPECT_EQ(Overlay("100%", 0xff0), 0xff0u);
  EXPECT_EQ(Overlay("50%", 0xff0), 0xf0u);
  EXPECT_EQ(Overlay("50-100%", 0xff0), 0xf80u);  // from (50-1)*8/100 = 3
  EXPECT_EQ(Overlay("0-50%", 0xff0), Overlay("1-50%", 0xff0));
  EXPECT_EQ(Overlay("1%", 0xff0), 0x10u);
  EXPECT_EQ(Overlay("100-100%", 0xff0), 0x800u);
  // Widened to the minimum: downward first, then upward.
  EXPECT_EQ(Overlay("60-60%", 0xff0, 3), 0x1c0u);
  EXPECT_EQ(Overlay("1%", 0xff0, 3), 0x70u);
  EXPECT_EQ(Overlay("20-20%", 0xff0, 4), 0xf0u);
}

TEST(RdtMaskTest, AClassMaskIsRelativeToItsPartition) {
  EXPECT_EQ(Overlay("0x3", 0xff0), 0x30u);
  EXPECT_EQ(Overlay("2-3", 0xff0), 0xc0u);
  const auto outside = OverlayCache(*ParseRdtCacheShare("0x1ff"), 0xff0, 1, false);
  EXPECT_THAT(outside.status().message(), HasSubstr("is not inside its partition's 0xff0"));
  const auto gaps = OverlayCache(*ParseRdtCacheShare("0x5"), 0xff0, 1, false);
  EXPECT_THAT(gaps.status().message(), HasSubstr("has gaps"));
  EXPECT_EQ(*OverlayCache(*ParseRdtCacheShare("0x5"), 0xff0, 1, true), 0x50u);
  EXPECT_FALSE(OverlayCache(*ParseRdtCacheShare("63"), 0xff0, 1, false).ok());
  const auto few = OverlayCache(*ParseRdtCacheShare("0x1"), 0xff0, 2, false);
  EXPECT_THAT(few.status().message(), HasSubstr("fewer ways than the machine's least, 2"));
  EXPECT_THAT(OverlayCache(*ParseRdtCacheShare("50%"), 0xa0, 1, true).status().message(),
              HasSubstr("has gaps, so it has no percentages"));
}

// Properties of every division of every cache.
TEST(RdtMaskTest, AnyDivisionIsContiguousDisjointAndInside) {
  std::mt19937 random(20);
  const auto upto = [&](uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n)(random);
  };
  int granted = 0;
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t cache = MaskOf(0, 1 + upto(63));
    const uint64_t min_bits = 1 + upto(2);
    std::vector<uint64_t> percents;
    for (uint64_t left = 100, n = 1 + upto(7); n > 0 && left > 0; --n) {
      percents.push_back(1 + upto(left - 1));
      left -= percents.back();
    }
    std::shuffle(percents.begin(), percents.end(), random);
    const auto masks = DivideCache(percents, cache, min_bits);
    if (!masks.ok()) continue;
    ++granted;
    uint64_t all = 0;
    for (const uint64_t mask : *masks) {
      ASSERT_EQ(WhyNoCacheMask(mask, cache, min_bits, false), "");
      ASSERT_EQ(all & mask, 0u);
      ASSERT_GT(mask, all);  // in order
      all |= mask;

      RdtCacheShare share{.kind = RdtCacheShare::Kind::kPercentRange};
      share.low_percent = upto(100);
      share.high_percent = std::max<uint64_t>(1, share.low_percent) +
                           upto(100 - std::max<uint64_t>(1, share.low_percent));
      const auto part = OverlayCache(share, mask, min_bits, false);
      ASSERT_TRUE(part.ok()) << part.status();
      ASSERT_EQ(WhyNoCacheMask(*part, mask, min_bits, false), "");
    }
  }
  EXPECT_GT(granted, 10'000);
}

}  // namespace
}  // namespace plimsoll::qos
