#include "resctrlfs/control_values.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/kernel_text.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::HasSubstr;

TEST(KernelTextTest, NumbersAreAsStrictAsTheKernels) {
  EXPECT_EQ(ParseUnsigned("12", 10), 12U);
  EXPECT_EQ(ParseUnsigned("+12\n", 10), 12U);
  EXPECT_EQ(ParseUnsigned("0xfF", 16), 0xffU);
  EXPECT_EQ(ParseUnsigned("010", 0), 8U);
  EXPECT_EQ(ParseUnsigned("0x10", 0), 16U);
  for (const char* bad : {"", " 1", "1 ", "1\n\n", "1a", "-1", "0x", "18446744073709551616"}) {
    EXPECT_EQ(ParseUnsigned(bad, 10), std::nullopt) << bad;
  }
  EXPECT_EQ(ParseInt("-1", 0), -1);
  EXPECT_EQ(ParseInt("2147483647", 0), 2147483647);
  EXPECT_EQ(ParseInt("2147483648", 0), std::nullopt);
}

TEST(MaskTest, FitsTheCache) {
  const CacheLayout cache = {.mask_bits = 11, .min_mask_bits = 2};
  EXPECT_EQ(*ParseMask(cache, "7ff"), 0x7ffU);
  EXPECT_EQ(*ParseMask(cache, "0x600"), 0x600U);
  EXPECT_THAT(ParseMask(cache, "800").status().message(), HasSubstr("larger"));
  EXPECT_THAT(ParseMask(cache, "0").status().message(), HasSubstr("empty"));
  EXPECT_THAT(ParseMask(cache, "f7").status().message(), HasSubstr("f7 are not consecutive"));
  EXPECT_THAT(ParseMask(cache, "4").status().message(), HasSubstr("2 bits or more"));
  EXPECT_THAT(ParseMask(cache, "3g").status().message(), HasSubstr("\"3g\" is no hexadecimal"));
}

// With sparse masks the kernel counts the lowest run only.
TEST(MaskTest, SparseMasksMayHaveHoles) {
  const CacheLayout cache = {.mask_bits = 8, .min_mask_bits = 2, .sparse_masks = true};
  EXPECT_EQ(*ParseMask(cache, "c3"), 0xc3U);
  EXPECT_THAT(ParseMask(cache, "c1").status().message(), HasSubstr("2 bits or more"));
}

TEST(MaskTest, MayBeEmptyWhereTheHardwareAllowsIt) {
  EXPECT_EQ(*ParseMask({.min_mask_bits = 0}, "0"), 0U);
}

TEST(MaskTest, AllOf32BitsAreAMask) {
  EXPECT_EQ(*ParseMask({.mask_bits = 32}, "ffffffff"), 0xffffffffU);
  EXPECT_EQ(LowestRun(0xffffffff), 0xffffffffU);
  EXPECT_EQ(LowestRun(0xf0f0), 0xf0U);
}

TEST(BandwidthTest, IsRoundedUpToTheNextStep) {
  const BandwidthLayout bandwidth = {.min_bandwidth = 10, .granularity = 10};
  EXPECT_EQ(*ParseBandwidth(bandwidth, false, "10"), 10U);
  EXPECT_EQ(*ParseBandwidth(bandwidth, false, "41"), 50U);
  EXPECT_EQ(*ParseBandwidth(bandwidth, false, "100"), 100U);
  for (const char* bad : {"9", "101", "-10", "fifty", ""}) {
    EXPECT_FALSE(ParseBandwidth(bandwidth, false, bad).ok()) << bad;
  }
}

TEST(BandwidthTest, IsAnythingWithMbps) {
  EXPECT_EQ(*ParseBandwidth({}, true, "7"), 7U);
  EXPECT_EQ(*ParseBandwidth({}, true, "4294967295"), 4294967295U);
  EXPECT_FALSE(ParseBandwidth({}, true, "4294967296").ok());
}

TEST(BandwidthTest, NeedsALinearScaleOnIntel) {
  EXPECT_FALSE(ParseBandwidth({.delay_linear = false}, false, "50").ok());
  const BandwidthLayout amd = {.min_bandwidth = 0,
                               .max_bandwidth = 2048,
                               .granularity = 1,
                               .delay_linear = false,
                               .needs_linear = false};
  EXPECT_EQ(*ParseBandwidth(amd, false, "16"), 16U);
}

}  // namespace
}  // namespace plimsoll::resctrlfs
