#include "runtime/cgroups/pod_group_settings.h"

#include <limits>

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using linux::CgroupSettings;

// 500m and 250m, 1Gi and 64Mi.
SandboxSpec Pod() {
  SandboxSpec pod;
  pod.resources = {.cpu_shares = 512,
                   .cpu_quota_us = 50000,
                   .cpu_period_us = 100000,
                   .memory_limit_bytes = 1 << 30,
                   .pids_limit = 100,
                   .hugetlb_limits = {{"2MB", 4 << 20}, {"1GB", 0}}};
  pod.overhead = {.cpu_shares = 256,
                  .cpu_quota_us = 25000,
                  .cpu_period_us = 100000,
                  .memory_limit_bytes = 64 << 20,
                  .pids_limit = 5,
                  .hugetlb_limits = {{"2MB", 2 << 20}}};
  return pod;
}

TEST(PodGroupSettingsTest, OverheadComesOnTop) {
  EXPECT_EQ(PodGroupSettings(Pod()),
            (CgroupSettings{.cpu_shares = 768,
                            .cpu_quota_us = 75000,
                            .cpu_period_us = 100000,
                            .memory_limit_bytes = (1 << 30) + (64 << 20),
                            .pids_limit = 105,
                            .hugetlb_limits = {{"2MB", 6 << 20}, {"1GB", 0}}}));
}

TEST(PodGroupSettingsTest, WhatHasNoLimitGetsNone) {
  SandboxSpec pod = Pod();
  pod.resources = {.cpu_quota_us = -1, .memory_limit_bytes = -1, .unified = {{"memory.low", "1"}}};
  EXPECT_EQ(PodGroupSettings(pod), pod.resources);
  pod.resources = {};
  EXPECT_EQ(PodGroupSettings(pod), CgroupSettings());
  pod = Pod();
  pod.overhead = {.cpu_quota_us = -1, .memory_limit_bytes = -1};
  EXPECT_EQ(PodGroupSettings(pod), pod.resources);
}

TEST(PodGroupSettingsTest, TheQuotaIsInTheResourcesPeriod) {
  SandboxSpec pod;
  pod.resources = {.cpu_quota_us = 10000, .cpu_period_us = 20000};
  pod.overhead = {.cpu_quota_us = 50000};
  EXPECT_EQ(PodGroupSettings(pod).cpu_quota_us, 20000);
}

TEST(PodGroupSettingsTest, MemoryAndSwapGrowTogether) {
  SandboxSpec pod;
  pod.resources = {.memory_limit_bytes = 4096, .memory_swap_limit_bytes = 4096};
  pod.overhead = {.memory_limit_bytes = 8192};
  EXPECT_EQ(PodGroupSettings(pod).memory_swap_limit_bytes, 12288);
  pod.resources.memory_limit_bytes = std::numeric_limits<int64_t>::max() - 1;
  EXPECT_EQ(PodGroupSettings(pod).memory_limit_bytes, std::numeric_limits<int64_t>::max());
}

TEST(PodGroupSettingsTest, SharesStayWithinWhatThereIs) {
  SandboxSpec pod;
  pod.resources.cpu_shares = 262144;
  pod.overhead.cpu_shares = 1024;
  EXPECT_EQ(PodGroupSettings(pod).cpu_shares, 262144u);
  pod.resources.cpu_shares = 2;  // best effort
  EXPECT_EQ(PodGroupSettings(pod).cpu_shares, 1026u);
}

TEST(ChangedSettingsTest, AreWhatDiffersAndWhatIsNamed) {
  const CgroupSettings before = PodGroupSettings(Pod());
  EXPECT_EQ(ChangedSettings(before, before, {}), CgroupSettings());
  EXPECT_EQ(ChangedSettings(before, before, {.cpu_shares = 512}),
            CgroupSettings{.cpu_shares = 768});
  SandboxSpec pod = Pod();
  pod.overhead.memory_limit_bytes = 128 << 20;
  pod.overhead.hugetlb_limits.clear();
  EXPECT_EQ(ChangedSettings(before, PodGroupSettings(pod), {}),
            (CgroupSettings{.memory_limit_bytes = (1 << 30) + (128 << 20),
                            .hugetlb_limits = {{"2MB", 4 << 20}}}));
}

}  // namespace
}  // namespace plimsoll::runtime
