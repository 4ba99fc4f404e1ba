// Tests of the merge alone; host_test.cc compares it with the kernel.
#include "linux/cgroup/merge.h"

#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

constexpr int64_t kMiB = 1 << 20;

CgroupSettings Memory(int64_t memory, std::optional<int64_t> both = std::nullopt) {
  return {.memory_limit_bytes = memory, .memory_swap_limit_bytes = both};
}
CgroupSettings Raw(const std::string& file, const std::string& value) {
  return {.unified = {{file, value}}};
}

CgroupSettings Merged(CgroupLayout layout, std::vector<CgroupSettings> updates) {
  CgroupSettings settings;
  for (const CgroupSettings& update : updates) MergeUpdate(update, layout, &settings);
  CgroupSettings again = settings;
  Settle(layout, &again);
  EXPECT_EQ(again, settings) << "what is settled stays so";
  return settings;
}
CgroupSettings OnV1(std::vector<CgroupSettings> updates) {
  return Merged(CgroupLayout::kHybrid, std::move(updates));
}
CgroupSettings OnV2(std::vector<CgroupSettings> updates) {
  return Merged(CgroupLayout::kV2, std::move(updates));
}

TEST(CgroupMergeTest, WhatIsNotNamedStays) {
  const CgroupSettings all = {.cpu_shares = 2,
                              .cpu_quota_us = 5000,
                              .cpu_period_us = 10000,
                              .cpuset_cpus = "0",
                              .cpuset_mems = "0",
                              .memory_limit_bytes = 1,
                              .memory_swap_limit_bytes = 1,
                              .pids_limit = 3,
                              .hugetlb_limits = {{"2MB", 4}},
                              .unified = {{"memory.high", "5"}}};
  EXPECT_EQ(OnV1({all, {}}), all);
  EXPECT_EQ(OnV2({all, {}}), all);
  CgroupSettings more = all;
  more.hugetlb_limits["1GB"] = 0;
  more.unified["memory.low"] = "1";
  EXPECT_EQ(OnV2({all, {.hugetlb_limits = {{"1GB", 0}}, .unified = {{"memory.low", "1"}}}}), more);
}

TEST(CgroupMergeTest, MemoryRaisedPastTheSumTakesTheSumAlong) {
  const std::vector<CgroupSettings> updates = {Memory(64 * kMiB, 80 * kMiB), Memory(128 * kMiB)};
  EXPECT_EQ(OnV1(updates), Memory(128 * kMiB, 144 * kMiB));
  EXPECT_EQ(OnV2(updates), Memory(128 * kMiB, 144 * kMiB));
}

TEST(CgroupMergeTest, MemoryBelowTheSumLeavesTheSumOnV1AndTheSwapOnV2) {
  const std::vector<CgroupSettings> raised = {Memory(64 * kMiB, 128 * kMiB), Memory(100 * kMiB)};
  EXPECT_EQ(OnV1(raised), Memory(100 * kMiB, 128 * kMiB));
  EXPECT_EQ(OnV2(raised), Memory(100 * kMiB, 164 * kMiB));
  const std::vector<CgroupSettings> lowered = {Memory(64 * kMiB, 64 * kMiB), Memory(32 * kMiB)};
  EXPECT_EQ(OnV1(lowered), Memory(32 * kMiB, 64 * kMiB));
  EXPECT_EQ(OnV2(lowered), Memory(32 * kMiB, 32 * kMiB));
}

TEST(CgroupMergeTest, MemoryWithoutALimitLiftsTheSumOnV1AndLeavesTheSwapOnV2) {
  const std::vector<CgroupSettings> updates = {Memory(64 * kMiB, 80 * kMiB), Memory(-1)};
  EXPECT_EQ(OnV1(updates), Memory(-1, -1));
  EXPECT_EQ(OnV1({Memory(64 * kMiB, 64 * kMiB), Memory(-1)}), Memory(-1)) << "without swap in it";
  CgroupSettings lifted = Memory(-1);
  lifted.unified["memory.swap.max"] = "16777216";
  EXPECT_EQ(OnV2(updates), lifted);
  // And on from there.
  CgroupSettings limited = lifted;
  limited.memory_limit_bytes = kMiB;
  EXPECT_EQ(OnV2({updates[0], updates[1], Memory(kMiB)}), limited);
  EXPECT_EQ(OnV2({updates[0], updates[1], Memory(kMiB, 2 * kMiB)}), Memory(kMiB, 2 * kMiB));
}

TEST(CgroupMergeTest, NoLimitOfTheSumStaysNone) {
  const std::vector<CgroupSettings> updates = {Memory(64 * kMiB, -1), Memory(128 * kMiB)};
  EXPECT_EQ(OnV1(updates), Memory(128 * kMiB, -1));
  EXPECT_EQ(OnV2(updates), Memory(128 * kMiB, -1));
}

TEST(CgroupMergeTest, ASumOfWhichTheMemoryIsNotKnownIsLeftToTheKernel) {
  const std::vector<CgroupSettings> updates = {{.memory_swap_limit_bytes = kMiB}, Memory(2 * kMiB)};
  EXPECT_EQ(OnV1(updates), Memory(2 * kMiB));
  EXPECT_EQ(OnV2(updates), Memory(2 * kMiB));
}

TEST(CgroupMergeTest, ALaterMemberTakesTheRawFilesPlace) {
  EXPECT_EQ(OnV2({Raw("cpu.max", "50000 200000"), {.cpu_quota_us = 20000}}),
            (CgroupSettings{.cpu_quota_us = 20000, .cpu_period_us = 200000}));
  EXPECT_EQ(OnV2({Raw("cpu.max", "max"), {.cpu_period_us = 50000}}),
            (CgroupSettings{.cpu_quota_us = -1, .cpu_period_us = 50000}));
  EXPECT_EQ(OnV2({Raw("cpu.weight", "7"), {.cpu_shares = 2}}), CgroupSettings{.cpu_shares = 2});
  EXPECT_EQ(OnV2({Raw("cpu.weight.nice", "7"), {.cpu_shares = 2}}),
            CgroupSettings{.cpu_shares = 2});
  EXPECT_EQ(OnV2({Raw("cpuset.cpus", "0-3"), {.cpuset_cpus = "1"}}),
            CgroupSettings{.cpuset_cpus = "1"});
  EXPECT_EQ(OnV2({Raw("cpuset.mems", "0-3"), {.cpuset_mems = "1"}}),
            CgroupSettings{.cpuset_mems = "1"});
  EXPECT_EQ(OnV2({Raw("pids.max", "9"), {.pids_limit = 8}}), CgroupSettings{.pids_limit = 8});
  EXPECT_EQ(OnV2({Raw("memory.max", "9"), Memory(8)}), Memory(8));
  EXPECT_EQ(OnV2({Raw("hugetlb.2MB.max", "9"), {.hugetlb_limits = {{"2MB", 0}}}}),
            (CgroupSettings{.hugetlb_limits = {{"2MB", 0}}}));
  EXPECT_EQ(OnV2({Memory(kMiB), Raw("memory.swap.max", "0"), {.memory_swap_limit_bytes = kMiB}}),
            Memory(kMiB, kMiB));
}

TEST(CgroupMergeTest, ALaterRawFileTakesTheMembersPlace) {
  EXPECT_EQ(OnV2({{.cpu_quota_us = 20000}, Raw("cpu.max", "max 50000")}),
            Raw("cpu.max", "max 50000"));
  EXPECT_EQ(OnV2({{.cpu_quota_us = 20000, .cpu_period_us = 50000}, Raw("cpu.max", "30000\n")}),
            Raw("cpu.max", "30000 50000"));
  EXPECT_EQ(OnV2({Raw("cpu.max", "20000 50000"), Raw("cpu.max", "max")}),
            Raw("cpu.max", "max 50000"));
  for (const auto& [file, value] : {std::pair("cpu.weight", "7"), {"cpu.weight.nice", "-3"}}) {
    EXPECT_EQ(OnV2({{.cpu_shares = 2}, Raw(file, value)}), Raw(file, value));
  }
  EXPECT_EQ(OnV2({Raw("cpu.weight", "7"), Raw("cpu.weight.nice", "1")}),
            Raw("cpu.weight.nice", "1"));
  EXPECT_EQ(OnV2({{.cpuset_cpus = "1"}, Raw("cpuset.cpus", "0")}), Raw("cpuset.cpus", "0"));
  EXPECT_EQ(OnV2({{.cpuset_mems = "1"}, Raw("cpuset.mems", "0")}), Raw("cpuset.mems", "0"));
  EXPECT_EQ(OnV2({{.pids_limit = 8}, Raw("pids.max", "9")}), Raw("pids.max", "9"));
  EXPECT_EQ(OnV2({{.hugetlb_limits = {{"2MB", 0}}}, Raw("hugetlb.2MB.max", "max")}),
            Raw("hugetlb.2MB.max", "max"));
  CgroupSettings other_swap = Memory(kMiB);
  other_swap.unified["memory.swap.max"] = "5";
  EXPECT_EQ(OnV2({Memory(kMiB, kMiB), Raw("memory.swap.max", "5")}), other_swap);
  // The kernel takes no weight for an idle group.
  EXPECT_EQ(OnV2({{.cpu_shares = 2}, Raw("cpu.idle", "1")}), Raw("cpu.idle", "1"));
  EXPECT_EQ(OnV2({Raw("cpu.idle", "0"), {.cpu_shares = 2}}),
            (CgroupSettings{.cpu_shares = 2, .unified = {{"cpu.idle", "0"}}}));
}

TEST(CgroupMergeTest, RawMemoryLeavesTheSwapAsItWas) {
  CgroupSettings expected = Raw("memory.max", "128M");
  expected.unified["memory.swap.max"] = "16777216";
  EXPECT_EQ(OnV2({Memory(64 * kMiB, 80 * kMiB), Raw("memory.max", "128M")}), expected);
  // The member counts both, so its swap part depends on the raw file.
  EXPECT_EQ(OnV2({Raw("memory.max", "128M"), {.memory_swap_limit_bytes = 144 * kMiB}}), expected);
  CgroupSettings without = Raw("memory.max", "0x100000");
  without.memory_swap_limit_bytes = -1;
  EXPECT_EQ(OnV2({Raw("memory.max", "0x100000"), {.memory_swap_limit_bytes = -1}}), without);
}

TEST(CgroupMergeTest, LinesOfOtherDevicesStay) {
  EXPECT_EQ(OnV2({Raw("io.max", "8:0 rbps=1 wbps=2\n8:16 rbps=3"), Raw("io.max", "8:0 wbps=max")}),
            Raw("io.max", "8:0 rbps=1 wbps=max\n8:16 rbps=3"));
  EXPECT_EQ(OnV2({Raw("io.weight", "200"), Raw("io.weight", "8:0 50"), Raw("io.weight", "300")}),
            Raw("io.weight", "default 300\n8:0 50"));
}

TEST(CgroupMergeTest, WhereLimitsAreInV1RawFilesSayNothing) {
  const CgroupSettings raw = {.unified = {{"cpu.max", "max"}, {"memory.max", "max"}}};
  CgroupSettings members = Memory(kMiB, kMiB);
  members.cpu_quota_us = 20000;
  CgroupSettings both = members;
  both.unified = raw.unified;
  EXPECT_EQ(OnV1({members, raw}), both);
  EXPECT_EQ(OnV1({raw, members}), both);
}

TEST(CgroupMergeTest, AtACreationRawFilesAreTheLastWord) {
  CgroupSettings made = Memory(64 * kMiB, 80 * kMiB);
  made.cpu_quota_us = 5000;
  made.cpu_period_us = 50000;
  made.unified = {{"cpu.max", "6000"}, {"memory.max", "max"}};
  Settle(CgroupLayout::kV2, &made);
  const CgroupSettings settled = {.unified = {{"cpu.max", "6000 50000"},
                                              {"memory.max", "max"},
                                              {"memory.swap.max", "16777216"}}};
  EXPECT_EQ(made, settled);
}

TEST(CgroupMergeTest, RowsOfEarlierBuildsAreMadeLegal) {
  for (const auto layout : {CgroupLayout::kHybrid, CgroupLayout::kV2}) {
    for (const int64_t memory : {128 * kMiB, int64_t{-1}}) {
      CgroupSettings row = Memory(memory, 64 * kMiB);
      Settle(layout, &row);
      EXPECT_EQ(row, Memory(memory));
    }
  }
}

}  // namespace
}  // namespace plimsoll::linux
