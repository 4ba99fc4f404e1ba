#include "runtime/cgroups/plugin_limits.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/objects/fakes_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

linux::CgroupSettings AllLimits() {
  linux::CgroupSettings all;
  all.cpu_shares = 512;
  all.cpu_quota_us = 50000;
  all.cpu_period_us = 100000;
  all.cpuset_cpus = "0";
  all.cpuset_mems = "0";
  all.memory_limit_bytes = 64 << 20;
  all.memory_swap_limit_bytes = 128 << 20;
  all.pids_limit = 100;
  all.hugetlb_limits = {{"2MB", 1 << 21}};
  all.unified = {{"memory.high", "1"}, {"memory.low", "2"}};
  return all;
}

std::vector<PluginChange> Changes() {
  std::vector<PluginChange> changes;
  for (const char* field : {"cpu.shares", "cpu.quota", "cpu.period", "cpu.cpus", "cpu.mems",
                            "memory.limit", "memory.swap", "pids"}) {
    changes.push_back({absl::StrCat("linux.resources.", field), "", "10-a"});
  }
  changes.push_back({"linux.resources.hugepage_limits", "2MB", "10-a"});
  changes.push_back({"linux.resources.unified", "memory.high", "20-b"});
  changes.push_back({"linux.resources.unified", "memory.low", "20-b"});
  return changes;
}

class PluginLimitsTest : public ::testing::Test {
 protected:
  PluginLimitsTest() {
    runtime_.known.emplace();
    runtime_.known->layout = linux::CgroupLayout::kV1;
    runtime_.known->controllers = {"cpu", "cpuset", "memory", "pids"};
  }
  absl::Status Check(const std::vector<PluginChange>& changes, const linux::CgroupSettings& before,
                     const linux::CgroupSettings& settings) {
    ContainerSpec spec;
    spec.resources = before;
    return CheckPluginLimits(spec, {.cgroup = settings, .changed_by = changes}, runtime_);
  }
  absl::Status CheckOomScore(int before, std::optional<int> wanted) {
    ContainerSpec spec;
    spec.oom_score_adj = before;
    const std::vector<PluginChange> changes = {{"linux.oom_score_adj", "", "10-a"}};
    return CheckPluginLimits(spec, {.oom_score_adj = wanted, .changed_by = changes}, runtime_);
  }

  FakeRuntime runtime_{*FsRoot::Open("/")};
};

TEST_F(PluginLimitsTest, EveryFieldOfAPluginIsFound) {
  EXPECT_EQ(SettingsBy(Changes(), AllLimits()), AllLimits());
  EXPECT_EQ(SettingsBy({}, AllLimits()), linux::CgroupSettings());
  EXPECT_EQ(SettingsBy(Changes(), {}), linux::CgroupSettings());
}

TEST_F(PluginLimitsTest, ALimitThatCannotHoldIsRefusedWithPluginAndField) {
  const absl::Status raw = Check({Changes()[9]}, {}, AllLimits());
  EXPECT_TRUE(absl::IsFailedPrecondition(raw)) << raw;
  EXPECT_THAT(std::string(raw.message()),
              AllOf(HasSubstr("plugin 20-b: linux.resources.unified memory.high can't be had here"),
                    HasSubstr("memory.high")));
  const absl::Status pages = Check({Changes()[8]}, {}, AllLimits());
  EXPECT_TRUE(absl::IsFailedPrecondition(pages)) << pages;
  EXPECT_THAT(std::string(pages.message()), HasSubstr("plugin 10-a: linux.resources.hugepage"));
}

TEST_F(PluginLimitsTest, ClientsAreTakenAsBeforeAndRepetitionsToo) {
  EXPECT_EQ(Check({}, {}, AllLimits()), absl::OkStatus());
  EXPECT_EQ(Check(Changes(), AllLimits(), AllLimits()), absl::OkStatus());
  EXPECT_EQ(Check({Changes()[0], Changes()[5]}, {}, AllLimits()), absl::OkStatus());
}

TEST_F(PluginLimitsTest, ASwapLimitIsComparedWithTheMemoryLimit) {
  runtime_.known->swap_accounting = false;
  const PluginChange swap = {"linux.resources.memory.swap", "", "10-a"};
  linux::CgroupSettings before;
  before.memory_limit_bytes = 64 << 20;
  linux::CgroupSettings wanted;
  wanted.memory_swap_limit_bytes = 64 << 20;
  EXPECT_EQ(Check({swap}, before, wanted), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Check({swap}, {}, wanted)));
  wanted.memory_limit_bytes = 32 << 20;
  EXPECT_TRUE(absl::IsFailedPrecondition(Check({swap}, before, wanted)));
}

TEST_F(PluginLimitsTest, AnOomScoreThatCannotBeHadIsRefused) {
  runtime_.known->oom_score_adj = 5;
  runtime_.known->lowers_oom_score_adj = false;
  const absl::Status lower = CheckOomScore(0, -500);
  EXPECT_TRUE(absl::IsFailedPrecondition(lower)) << lower;
  EXPECT_THAT(std::string(lower.message()),
              HasSubstr("plugin 10-a: linux.oom_score_adj can't be had here: oom_score_adj is 5"));
  EXPECT_EQ(CheckOomScore(-500, -500), absl::OkStatus());
  EXPECT_EQ(CheckOomScore(-500, std::nullopt), absl::OkStatus());
  EXPECT_EQ(CheckOomScore(0, 5), absl::OkStatus());
  runtime_.known->lowers_oom_score_adj = true;
  EXPECT_EQ(CheckOomScore(0, -500), absl::OkStatus());
}

}  // namespace
}  // namespace plimsoll::runtime
