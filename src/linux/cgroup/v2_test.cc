#include "linux/cgroup/v2.h"

#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/fake_tree_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const FakeCgroupTree::Files& V2Files() {
  static const FakeCgroupTree::Files files = {
      {"", {{"cpu.stat", "usage_usec 0\n"}}},
      {"cpu", {{"cpu.weight", "100\n"}, {"cpu.max", "max 100000\n"}}},
      {"cpuset", {{"cpuset.cpus", "\n"}, {"cpuset.mems", "\n"}}},
      {"hugetlb", {{"hugetlb.2MB.max", "max\n"}, {"hugetlb.2MB.rsvd.max", "max\n"}}},
      {"io", {{"io.max", "\n"}}},
      {"memory",
       {{"memory.max", "max\n"},
        {"memory.swap.max", "max\n"},
        {"memory.current", "0\n"},
        {"memory.high", "max\n"},
        {"memory.events", "oom 0\noom_kill 0\n"},
        {"memory.stat", "anon 0\n"}}},
      {"pids", {{"pids.max", "max\n"}, {"pids.current", "0\n"}}},
  };
  return files;
}

class CgroupV2Test : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cgroups_.Create("/a/b").ok()); }
  void Put(absl::string_view file, absl::string_view text) { tree_->Put("/a/b", file, text); }
  std::string Get(absl::string_view file) { return *tree_->Read("/a/b", file); }

  TestDir dir_;
  std::shared_ptr<FakeCgroupTree> tree_ =
      std::make_shared<FakeCgroupTree>(dir_.root(), V2Files(), /*v2=*/true);
  CgroupV2 cgroups_{tree_};
};

TEST_F(CgroupV2Test, CreateEnablesControllersOnTheWayButNotInTheGroup) {
  EXPECT_EQ(*tree_->Read("/", "cgroup.subtree_control"), "cpu cpuset hugetlb io memory pids");
  EXPECT_EQ(*tree_->Read("/a", "cgroup.subtree_control"), "cpu cpuset hugetlb io memory pids");
  EXPECT_EQ(*tree_->Read("/a/b", "cgroup.subtree_control"), "");
  EXPECT_THAT(*cgroups_.Create("a/b/c/d/"), ElementsAre("/a/b/c", "/a/b/c/d"));
  EXPECT_THAT(*cgroups_.Create("/a/b/c/d"), IsEmpty());
  EXPECT_THAT(*cgroups_.Create("/"), IsEmpty());
  EXPECT_THAT(cgroups_.Controllers(),
              ElementsAre("cpu", "cpuset", "hugetlb", "io", "memory", "pids"));
  EXPECT_EQ(cgroups_.layout(), CgroupLayout::kV2);
}

TEST_F(CgroupV2Test, AKeeperUsesAllControllersOfItsParent) {
  EXPECT_THAT(*cgroups_.MakeKeeper("/a/keep"), ElementsAre("/a/keep"));
  EXPECT_EQ(*tree_->Read("/a/keep", "cgroup.subtree_control"), "cpu cpuset hugetlb io memory pids");
  EXPECT_THAT(*cgroups_.MakeKeeper("/a/keep"), IsEmpty());
  tree_->refuse["/a/other/cgroup.subtree_control"] = EIO;
  EXPECT_FALSE(cgroups_.MakeKeeper("/a/other").ok());
  EXPECT_FALSE(*cgroups_.Exists("/a/other"));
}

TEST_F(CgroupV2Test, WhatCannotBeLookedAtIsNotAbsent) {
  const NoDescriptors none;
  EXPECT_FALSE(cgroups_.Exists("/a/b").ok());
  EXPECT_FALSE(cgroups_.Processes("/a/b", false).ok());
  EXPECT_FALSE(absl::IsNotFound(cgroups_.Apply("/a/b", {})));
}

TEST_F(CgroupV2Test, CreateIsUndone) {
  tree_->refuse["/x/y/z"] = ENOSPC;
  EXPECT_TRUE(absl::IsResourceExhausted(cgroups_.Create("/x/y/z").status()));
  EXPECT_FALSE(*cgroups_.Exists("/x"));
}

TEST_F(CgroupV2Test, AGroupWithProcessesCantHaveGroupsBelow) {
  Put("cgroup.procs", "4711\n");
  const auto made = cgroups_.Create("/a/b/c");
  EXPECT_TRUE(absl::IsFailedPrecondition(made.status()));
  EXPECT_THAT(made.status().message(), HasSubstr("/a/b holds processes"));
  EXPECT_FALSE(*cgroups_.Exists("/a/b/c"));
}

TEST_F(CgroupV2Test, AppliesAndReadsBackEverything) {
  const CgroupSettings settings = {.cpu_shares = 1024,
                                   .cpu_quota_us = 50000,
                                   .cpu_period_us = 200000,
                                   .cpuset_cpus = "0-1,3",
                                   .cpuset_mems = "0",
                                   .memory_limit_bytes = 100 << 20,
                                   .memory_swap_limit_bytes = 130 << 20,
                                   .pids_limit = 50,
                                   .hugetlb_limits = {{"2MB", 4 << 20}},
                                   .unified = {{"memory.high", "90000000\n"}}};
  const absl::Status status = cgroups_.Apply("/a/b", settings);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get("cpu.weight"), "39");
  EXPECT_EQ(Get("cpu.max"), "50000 200000");
  EXPECT_EQ(Get("cpuset.cpus"), "0-1,3");
  EXPECT_EQ(Get("memory.max"), "104857600");
  EXPECT_EQ(Get("memory.swap.max"), absl::StrCat(30 << 20));
  EXPECT_EQ(Get("pids.max"), "50");
  EXPECT_EQ(Get("hugetlb.2MB.max"), "4194304");
  EXPECT_EQ(Get("memory.high"), "90000000");

  CgroupSettings expected = settings;
  expected.cpu_shares = CpuWeightToShares(39);
  expected.unified.clear();
  EXPECT_EQ(*cgroups_.Read("/a/b"), expected);
}

TEST_F(CgroupV2Test, NoLimitIsMinusOne) {
  EXPECT_EQ(*cgroups_.Read("/a/b"), (CgroupSettings{.cpu_shares = CpuWeightToShares(100),
                                                    .cpu_quota_us = -1,
                                                    .cpu_period_us = 100000,
                                                    .memory_limit_bytes = -1,
                                                    .memory_swap_limit_bytes = -1,
                                                    .pids_limit = -1}));
  ASSERT_TRUE(cgroups_
                  .Apply("/a/b", {.cpu_quota_us = 5000,
                                  .memory_limit_bytes = 1 << 20,
                                  .memory_swap_limit_bytes = 1 << 20,
                                  .pids_limit = 3})
                  .ok());
  EXPECT_EQ(Get("cpu.max"), "5000 100000");
  EXPECT_EQ(Get("memory.swap.max"), "0");
  ASSERT_TRUE(cgroups_
                  .Apply("/a/b", {.cpu_quota_us = -1,
                                  .memory_limit_bytes = -1,
                                  .memory_swap_limit_bytes = -1,
                                  .pids_limit = -1})
                  .ok());
  EXPECT_EQ(Get("cpu.max"), "max 100000");
  EXPECT_EQ(Get("memory.max"), "max");
  EXPECT_EQ(Get("memory.swap.max"), "max");
  EXPECT_EQ(Get("pids.max"), "max");
}

TEST_F(CgroupV2Test, PeriodAloneKeepsTheQuota) {
  Put("cpu.max", "20000 100000\n");
  ASSERT_TRUE(cgroups_.Apply("/a/b", {.cpu_period_us = 50000}).ok());
  EXPECT_EQ(Get("cpu.max"), "20000 50000");
}

TEST_F(CgroupV2Test, SwapNeedsAMemoryLimitAndMayNotBeLess) {
  const absl::Status alone = cgroups_.Apply("/a/b", {.memory_swap_limit_bytes = 1 << 20});
  EXPECT_TRUE(absl::IsInvalidArgument(alone)) << alone;
  Put("memory.max", "2097152\n");
  EXPECT_TRUE(
      absl::IsInvalidArgument(cgroups_.Apply("/a/b", {.memory_swap_limit_bytes = 1 << 20})));
  ASSERT_TRUE(cgroups_.Apply("/a/b", {.memory_swap_limit_bytes = 3 << 20}).ok());
  EXPECT_EQ(Get("memory.swap.max"), "1048576");
  EXPECT_EQ(*cgroups_.Read("/a/b")->memory_swap_limit_bytes, 3 << 20);
}

TEST_F(CgroupV2Test, WithoutSwapAccountingOnlyNoSwapIsPossible) {
  ASSERT_TRUE(dir_.root().RemoveFile("a/b/memory.swap.max").ok());
  EXPECT_TRUE(
      cgroups_.Apply("/a/b", {.memory_limit_bytes = 1 << 20, .memory_swap_limit_bytes = 1 << 20})
          .ok());
  EXPECT_TRUE(cgroups_.Apply("/a/b", {.memory_swap_limit_bytes = -1}).ok());
  const absl::Status status = cgroups_.Apply("/a/b", {.memory_swap_limit_bytes = 2 << 20});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("does not account swap"));
  EXPECT_EQ(cgroups_.Read("/a/b")->memory_swap_limit_bytes, std::nullopt);
  // The raw file accepts it too.
  EXPECT_TRUE(cgroups_.Apply("/a/b", {.unified = {{"memory.swap.max", "0"}}}).ok());
  EXPECT_TRUE(cgroups_.Apply("/a/b", {.unified = {{"memory.swap.max", "max\n"}}}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      cgroups_.Apply("/a/b", {.unified = {{"memory.swap.max", "1048576"}}})));
}

TEST_F(CgroupV2Test, ALimitThatWouldKillIsRefused) {
  Put("memory.current", "10000000\n");
  Put("memory.stat", "anon 6000000\nfile 4000000\ninactive_file 3000000\nactive_file 1000000\n");
  EXPECT_TRUE(cgroups_.Apply("/a/b", {.memory_limit_bytes = 6000000}).ok());
  const absl::Status status =
      cgroups_.Apply("/a/b", {.cpu_shares = 2, .memory_limit_bytes = 5999999});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("10000000"));
  EXPECT_EQ(Get("memory.max"), "6000000");
  EXPECT_EQ(Get("cpu.weight"), "100") << "nothing was written";
}

TEST_F(CgroupV2Test, AFailedStepIsUndone) {
  ASSERT_TRUE(cgroups_.Apply("/a/b", {.memory_limit_bytes = 7 << 20, .pids_limit = 10}).ok());
  tree_->writes.clear();
  tree_->refuse["/a/b/memory.max"] = EIO;
  const absl::Status status = cgroups_.Apply("/a/b", {.cpu_shares = 2,
                                                      .cpu_quota_us = 5000,
                                                      .cpuset_cpus = "0",
                                                      .memory_limit_bytes = 8 << 20,
                                                      .pids_limit = 20});
  EXPECT_THAT(status.message(), HasSubstr("\"8388608\" to /a/b/memory.max"));
  EXPECT_THAT(tree_->writes,
              ElementsAre("/a/b/cpu.weight=1", "/a/b/cpu.max=5000 100000", "/a/b/cpuset.cpus=0",
                          "/a/b/pids.max=20", "/a/b/pids.max=10",
                          "/a/b/cpuset.cpus=", "/a/b/cpu.max=max 100000", "/a/b/cpu.weight=100"));
  EXPECT_EQ(Get("memory.max"), "7340032");
}

TEST_F(CgroupV2Test, RawFilesAreCheckedToo) {
  const auto apply = [this](const char* file, const char* value) {
    return cgroups_.Apply("/a/b", {.memory_limit_bytes = 1 << 20, .unified = {{file, value}}});
  };
  EXPECT_TRUE(absl::IsInvalidArgument(apply("cgroup.procs", "1")));
  EXPECT_TRUE(absl::IsInvalidArgument(apply("../memory.max", "1")));
  EXPECT_TRUE(absl::IsInvalidArgument(apply("memory.high", " ")));
  EXPECT_TRUE(absl::IsInvalidArgument(apply("memory.max", "1")));  // a second setting of the same
                                                                   // file
  EXPECT_TRUE(absl::IsFailedPrecondition(apply("memory.none", "1")));
  EXPECT_EQ(Get("memory.max"), "max");
}

TEST_F(CgroupV2Test, LinesOfANestedFileAreWrittenAndUndoneOneByOne) {
  Put("io.max", "8:0 rbps=1 wbps=max riops=max wiops=max\n");
  tree_->writes.clear();
  tree_->refuse["/a/b/memory.high"] = EIO;
  EXPECT_FALSE(cgroups_
                   .Apply("/a/b", {.unified = {{"io.max", "8:0 rbps=2\n8:16 rbps=3\n"},
                                               {"memory.high", "1"}}})
                   .ok());
  EXPECT_THAT(tree_->writes, ElementsAre("/a/b/io.max=8:0 rbps=2", "/a/b/io.max=8:16 rbps=3",
                                         "/a/b/io.max=8:0 rbps=1 wbps=max riops=max wiops=max",
                                         "/a/b/io.max=8:16 rbps=max wbps=max riops=max wiops=max"));
}

// For a weight between two nice levels the kernel shows the nearest level.
TEST_F(CgroupV2Test, ANiceLevelIsWrittenThoughItReadsAsThatAlready) {
  Put("cpu.weight", "300\n");
  Put("cpu.weight.nice", "-5\n");
  tree_->writes.clear();
  ASSERT_TRUE(cgroups_.Apply("/a/b", {.unified = {{"cpu.weight.nice", "-5"}}}).ok());
  EXPECT_THAT(tree_->writes, ElementsAre("/a/b/cpu.weight.nice=-5"));
  tree_->writes.clear();
  tree_->refuse["/a/b/memory.high"] = EIO;
  EXPECT_FALSE(
      cgroups_.Apply("/a/b", {.unified = {{"cpu.weight.nice", "-9"}, {"memory.high", "1"}}}).ok());
  EXPECT_THAT(tree_->writes, ElementsAre("/a/b/cpu.weight.nice=-9", "/a/b/cpu.weight=300"));
}

TEST_F(CgroupV2Test, AMissingControllerIsAPrecondition) {
  ASSERT_TRUE(dir_.root().RemoveFile("a/b/cpu.weight").ok());
  const absl::Status status = cgroups_.Apply("/a/b", {.cpu_shares = 100, .pids_limit = 4});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("cpu_shares"));
  EXPECT_EQ(Get("pids.max"), "max");
  EXPECT_TRUE(absl::IsNotFound(cgroups_.Apply("/none", {.cpu_shares = 100})));
  EXPECT_TRUE(absl::IsNotFound(cgroups_.Read("/none").status()));
}

TEST_F(CgroupV2Test, StatsAndOomKills) {
  Put("cpu.stat",
      "usage_usec 1500\nuser_usec 1000\nnr_periods 9\nnr_throttled 7\nthrottled_usec 12\n");
  Put("memory.pressure",
      "some avg10=1.50 avg60=0.00 avg300=0.00 total=4\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  Put("io.pressure", "not supported\n");
  Put("memory.current", "1000\n");
  Put("memory.stat", "anon 300\nfile 700\ninactive_file 400\npgfault 9\npgmajfault 2\n");
  Put("memory.swap.current", "55\n");
  Put("memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 1\n");
  Put("pids.current", "6\n");
  const auto stats = cgroups_.Stats("/a/b");
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->cpu_usage_ns, 1500000u);
  EXPECT_EQ(stats->cpu_periods, 9u);
  EXPECT_EQ(stats->cpu_throttled_periods, 7u);
  EXPECT_EQ(stats->cpu_throttled_ns, 12000u);
  EXPECT_FALSE(stats->cpu_pressure.has_value()) << "no such file";
  ASSERT_TRUE(stats->memory_pressure.has_value());
  EXPECT_EQ(stats->memory_pressure->some.avg10, 1.5);
  EXPECT_EQ(stats->memory_pressure->some.total_us, 4u);
  EXPECT_FALSE(stats->io_pressure.has_value());
  EXPECT_EQ(stats->memory_usage_bytes, 1000u);
  EXPECT_EQ(stats->memory_working_set_bytes, 600u);
  EXPECT_EQ(stats->memory_rss_bytes, 300u);
  EXPECT_EQ(stats->page_faults, 9u);
  EXPECT_EQ(stats->major_page_faults, 2u);
  EXPECT_EQ(stats->swap_usage_bytes, 55u);
  EXPECT_EQ(stats->process_count, 6u);
  EXPECT_EQ(*cgroups_.OomKills("/a/b"), 3u);
  Put("memory.stat", "inactive_file 5000\n");
  EXPECT_EQ(cgroups_.Stats("/a/b")->memory_working_set_bytes, 0u);
  EXPECT_TRUE(absl::IsNotFound(cgroups_.Stats("/none").status()));
  EXPECT_TRUE(absl::IsNotFound(cgroups_.OomKills("/none").status()));
}

TEST_F(CgroupV2Test, RemovesGroupsBelowFirst) {
  ASSERT_TRUE(cgroups_.Create("/a/b/c/d").ok());
  ASSERT_TRUE(cgroups_.Remove("/a").ok());
  EXPECT_FALSE(*cgroups_.Exists("/a"));
  EXPECT_TRUE(cgroups_.Remove("/a").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(cgroups_.Remove("/")));
}

TEST_F(CgroupV2Test, AnUnusedGroupIsRemovedAndOneWithGroupsBelowStays) {
  ASSERT_TRUE(cgroups_.Create("/a/b").ok());
  EXPECT_TRUE(cgroups_.RemoveIfUnused("/a").ok());
  EXPECT_TRUE(*cgroups_.Exists("/a/b"));
  EXPECT_TRUE(cgroups_.RemoveIfUnused("/a/b").ok());
  EXPECT_TRUE(cgroups_.RemoveIfUnused("/a").ok());
  EXPECT_FALSE(*cgroups_.Exists("/a"));
  EXPECT_TRUE(cgroups_.RemoveIfUnused("/a").ok());
  EXPECT_TRUE(cgroups_.RemoveIfUnused("/").ok());
}

TEST_F(CgroupV2Test, RemoveRefusesWhileThereAreProcesses) {
  ASSERT_TRUE(cgroups_.Create("/a/b/c").ok());
  tree_->Put("/a/b/c", "cgroup.procs", "4711\n4712\n");
  const absl::Status status = cgroups_.Remove("/a/b");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("4711, 4712"));
  EXPECT_TRUE(*cgroups_.Exists("/a/b/c"));
  EXPECT_THAT(*cgroups_.Processes("/a/b", /*recursive=*/true), ElementsAre(4711, 4712));
  EXPECT_THAT(*cgroups_.Processes("/a/b", /*recursive=*/false), IsEmpty());
}

TEST_F(CgroupV2Test, NeverTakesTheWriterForAProcess) {
  EXPECT_TRUE(absl::IsInvalidArgument(cgroups_.AddProcess("/a/b", 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(cgroups_.AddProcess("/a/b", -1)));
  tree_->refuse["/a/b/cgroup.procs"] = ESRCH;
  EXPECT_TRUE(absl::IsNotFound(cgroups_.AddProcess("/a/b", 4711)));
  tree_->refuse["/a/b/cgroup.procs"] = EBUSY;
  EXPECT_THAT(cgroups_.AddProcess("/a/b", 4711).message(), HasSubstr("takes no processes"));
}

}  // namespace
}  // namespace plimsoll::linux
