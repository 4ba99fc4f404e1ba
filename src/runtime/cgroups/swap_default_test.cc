#include "runtime/cgroups/swap_default.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using linux::CgroupLayout;
using linux::CgroupSettings;

constexpr int64_t kMiB = 1 << 20;

CgroupSettings Limits(std::optional<int64_t> memory, std::optional<int64_t> both = std::nullopt) {
  return {.memory_limit_bytes = memory, .memory_swap_limit_bytes = both};
}

CgroupSettings Raw(CgroupSettings settings, const char* swap) {
  settings.unified["memory.swap.max"] = swap;
  return settings;
}

// The limit of memory and swap that `change` has in the end.
std::optional<int64_t> Swap(const CgroupSettings& present, CgroupSettings change,
                            CgroupLayout layout = CgroupLayout::kV2) {
  LimitSwapByDefault(present, layout, &change);
  return change.memory_swap_limit_bytes;
}

TEST(SwapDefaultTest, AMemoryLimitAloneLetsNothingBeSwapped) {
  for (const CgroupLayout layout : {CgroupLayout::kV1, CgroupLayout::kV2}) {
    EXPECT_EQ(Swap({}, Limits(kMiB), layout), kMiB);
    EXPECT_EQ(Swap({.cpu_shares = 2}, Limits(kMiB), layout), kMiB) << "the first limit comes late";
    EXPECT_EQ(Swap(Limits(-1), Limits(kMiB), layout), kMiB);
  }
}

TEST(SwapDefaultTest, AContainerOfAnEarlierBuildMaySwapOnV1) {
  EXPECT_EQ(Swap(Limits(kMiB), Limits(2 * kMiB), CgroupLayout::kV2), 2 * kMiB);
  EXPECT_EQ(Swap(Limits(kMiB), Limits(2 * kMiB), CgroupLayout::kV1), std::nullopt);
  EXPECT_EQ(Swap(Limits(kMiB), Limits(2 * kMiB), CgroupLayout::kHybrid), std::nullopt);
}

TEST(SwapDefaultTest, TheClientsChoiceCounts) {
  EXPECT_EQ(Swap({}, Limits(kMiB, 3 * kMiB)), 3 * kMiB);
  EXPECT_EQ(Swap({}, Limits(kMiB, -1)), -1);
  EXPECT_EQ(Swap({}, Raw(Limits(kMiB), "5")), std::nullopt) << "kubelet's LimitedSwap";
  EXPECT_EQ(Swap({}, Raw(Limits(kMiB), "5"), CgroupLayout::kV1), kMiB) << "v1 has no such file";
}

TEST(SwapDefaultTest, AnUpdateKeepsAnEarlierChoice) {
  EXPECT_EQ(Swap(Limits(kMiB, 3 * kMiB), Limits(2 * kMiB)), std::nullopt);
  EXPECT_EQ(Swap(Limits(kMiB, -1), Limits(2 * kMiB)), std::nullopt);
  EXPECT_EQ(Swap(Limits(-1, -1), Limits(2 * kMiB)), std::nullopt);
  EXPECT_EQ(Swap(Raw(Limits(kMiB), "5"), Limits(2 * kMiB)), std::nullopt);
}

TEST(SwapDefaultTest, NothingStaysNothingUnderEachLaterLimit) {
  for (const CgroupLayout layout : {CgroupLayout::kV1, CgroupLayout::kV2}) {
    EXPECT_EQ(Swap(Limits(2 * kMiB, 2 * kMiB), Limits(kMiB), layout), kMiB);
    EXPECT_EQ(Swap(Limits(kMiB, kMiB), Limits(2 * kMiB), layout), 2 * kMiB);
  }
}

TEST(SwapDefaultTest, WithoutAMemoryLimitThereIsNoDefault) {
  EXPECT_EQ(Swap({}, {}), std::nullopt);
  EXPECT_EQ(Swap({}, Limits(-1)), std::nullopt);
  EXPECT_EQ(Swap(Limits(kMiB, kMiB), Limits(-1)), std::nullopt);
  EXPECT_EQ(Swap(Limits(kMiB, kMiB), {.cpu_shares = 2}), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::runtime
