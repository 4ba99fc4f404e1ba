#include "agent/groups/limits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using linux::CgroupLayout;
using linux::CgroupSettings;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CgroupSettings Wanted() {
  CgroupSettings settings;
  settings.cpu_shares = 512;
  settings.cpu_quota_us = 50000;
  settings.cpu_period_us = 100000;
  settings.memory_limit_bytes = 64 << 20;
  settings.pids_limit = 100;
  settings.hugetlb_limits = {{"1GB", 0}, {"2MB", 4 << 20}};
  return settings;
}

TEST(LimitsTest, AMachineHoldsWhatItHasFilesFor) {
  const GroupMachine full = {CgroupLayout::kV1, {"cpu", "hugetlb", "memory", "pids"}, {"2MB"}};
  CgroupSettings expected = Wanted();
  expected.hugetlb_limits.erase("1GB");
  EXPECT_EQ(Fit(Wanted(), full), expected);
  EXPECT_THAT(LimitsLost(full), IsEmpty());
  const GroupMachine bare = {CgroupLayout::kV1, {"cpu", "memory"}, {"2MB"}};
  expected.hugetlb_limits.clear();
  expected.pids_limit.reset();
  EXPECT_EQ(Fit(Wanted(), bare), expected);
  EXPECT_THAT(LimitsLost(bare), SizeIs(2));
}

// Else each comparison with the kernel's value would find a difference.
TEST(LimitsTest, ValuesAreThoseThatTheKernelKeeps) {
  CgroupSettings odd;
  odd.cpu_shares = 20;
  odd.memory_limit_bytes = (1 << 20) + 1;
  const CgroupSettings v2 = Fit(odd, {CgroupLayout::kV2, {}, {}});
  EXPECT_EQ(v2.cpu_shares, 2u);
  EXPECT_EQ(v2.memory_limit_bytes, 1 << 20);
  EXPECT_EQ(Fit(odd, {CgroupLayout::kV1, {}, {}}).cpu_shares, 20u);
  GroupMachine large;
  large.page_bytes = 64 << 10;  // arm64's largest
  odd.memory_limit_bytes = (3 << 16) - 1;
  EXPECT_EQ(Fit(odd, large).memory_limit_bytes, 2 << 16);
  odd.memory_limit_bytes = 7;
  EXPECT_EQ(Fit(odd, {}).memory_limit_bytes, 7);
  odd.memory_limit_bytes = -1;
  EXPECT_EQ(Fit(odd, {}).memory_limit_bytes, -1);
}

TEST(LimitsTest, ChangesAreWhatIsNotInForce) {
  const CgroupSettings now = Wanted();
  EXPECT_EQ(Changes(now, Wanted()), CgroupSettings());
  EXPECT_EQ(Changes(now, {}), CgroupSettings());
  CgroupSettings wanted = Wanted();
  wanted.cpu_quota_us = -1;
  wanted.pids_limit = -1;
  wanted.hugetlb_limits["2MB"] = 0;
  CgroupSettings expected;
  expected.cpu_quota_us = -1;
  expected.cpu_period_us = 100000;
  expected.pids_limit = -1;
  expected.hugetlb_limits = {{"2MB", 0}};
  EXPECT_EQ(Changes(now, wanted), expected);
  EXPECT_EQ(Changes(CgroupSettings(), Wanted()), Wanted());
}

TEST(LimitsTest, RaisesGrantMore) {
  const CgroupSettings now = Wanted();
  CgroupSettings mixed = Wanted();
  mixed.cpu_shares = 1024;
  mixed.memory_limit_bytes = 32 << 20;
  mixed.hugetlb_limits["2MB"] = 8 << 20;
  CgroupSettings expected;
  expected.cpu_shares = 1024;
  expected.hugetlb_limits = {{"2MB", 8 << 20}};
  EXPECT_EQ(Raises(now, mixed), expected);
  mixed.memory_limit_bytes = -1;
  expected.memory_limit_bytes = -1;
  EXPECT_EQ(Raises(now, mixed), expected);
}

TEST(LimitsTest, AQuotaIsARateToCompare) {
  const auto raised = [](int64_t quota_before, uint64_t period_before, int64_t quota,
                         uint64_t period) {
    CgroupSettings now;
    now.cpu_quota_us = quota_before;
    now.cpu_period_us = period_before;
    CgroupSettings wanted;
    wanted.cpu_quota_us = quota;
    wanted.cpu_period_us = period;
    const CgroupSettings raises = Raises(now, wanted);
    EXPECT_TRUE(raises == CgroupSettings() || raises == wanted);
    return raises == wanted;
  };
  EXPECT_TRUE(raised(50000, 100000, 60000, 100000));
  EXPECT_TRUE(raised(50000, 100000, 40000, 50000));
  EXPECT_TRUE(raised(50000, 100000, -1, 100000));
  EXPECT_FALSE(raised(50000, 100000, 25000, 50000));
  EXPECT_FALSE(raised(-1, 100000, 900000, 100000));
  EXPECT_FALSE(raised(-1, 100000, -1, 50000));
}

TEST(LimitsTest, ReplacedValuesAreTheWayBack) {
  CgroupSettings written;
  written.cpu_shares = 2;
  written.hugetlb_limits = {{"2MB", 0}, {"64KB", 0}};
  CgroupSettings expected;
  expected.cpu_shares = 512;
  expected.hugetlb_limits = {{"2MB", 4 << 20}};
  EXPECT_EQ(Replaced(Wanted(), written), expected);
}

}  // namespace
}  // namespace plimsoll::agent
