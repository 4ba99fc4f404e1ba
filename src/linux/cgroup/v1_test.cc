// Tests cgroup v1 on plain files: orders, undo and features that this machine's kernel may lack.
// host_test.cc tests the kernel itself.
#include "linux/cgroup/v1.h"

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

constexpr char kNone[] = "9223372036854771712\n";

// One hierarchy per controller, each a directory of the test's.
class CgroupV1Test : public ::testing::Test {
 protected:
  void SetUp() override {
    Add("cpu", {{"cpu.shares", "1024\n"},
                {"cpu.cfs_quota_us", "-1\n"},
                {"cpu.cfs_period_us", "100000\n"},
                {"cpu.stat", "nr_throttled 0\n"}});
    Add("cpuset", {{"cpuset.cpus", "\n"}, {"cpuset.mems", "\n"}});
    Add("memory", {{"memory.limit_in_bytes", kNone},
                   {"memory.memsw.limit_in_bytes", kNone},
                   {"memory.usage_in_bytes", "0\n"},
                   {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"},
                   {"memory.stat", "total_rss 0\n"}});
    Add("pids", {{"pids.max", "max\n"}, {"pids.current", "0\n"}});
    trees_["cpuset"]->Put("/", "cpuset.cpus", "0-7\n");
    trees_["cpuset"]->Put("/", "cpuset.mems", "0-1\n");
    cgroups_ = std::make_unique<CgroupV1>(hierarchies_, nullptr);
    ASSERT_TRUE(cgroups_->Create("/a").ok());
    for (auto& [name, tree] : trees_) tree->writes.clear();
  }

  void Add(const std::string& controller, std::map<std::string, std::string> files) {
    ASSERT_TRUE(dir_.root().MakeDirs(controller).ok());
    auto tree = std::make_shared<FakeCgroupTree>(
        *dir_.root().Sub(controller), FakeCgroupTree::Files{{controller, std::move(files)}},
        /*v2=*/false);
    trees_[controller] = tree;
    hierarchies_.push_back({tree, {controller}});
  }
  void Put(const char* tree, absl::string_view file, absl::string_view text) {
    trees_[tree]->Put("/a", file, text);
  }
  std::string Get(const char* tree, absl::string_view file) {
    return *trees_[tree]->Read("/a", file);
  }
  void SetMemory(int64_t memory, int64_t both) {
    Put("memory", "memory.limit_in_bytes", absl::StrCat(memory));
    Put("memory", "memory.memsw.limit_in_bytes", absl::StrCat(both));
    trees_["memory"]->writes.clear();
  }
  void SetCpu(int64_t quota, int64_t period) {
    Put("cpu", "cpu.cfs_quota_us", absl::StrCat(quota));
    Put("cpu", "cpu.cfs_period_us", absl::StrCat(period));
    trees_["cpu"]->writes.clear();
  }

  TestDir dir_;
  std::map<std::string, std::shared_ptr<FakeCgroupTree>> trees_;
  std::vector<CgroupHierarchy> hierarchies_;
  std::unique_ptr<CgroupV1> cgroups_;
};

TEST_F(CgroupV1Test, CreateInheritsTheCpuset) {
  EXPECT_EQ(Get("cpuset", "cpuset.cpus"), "0-7");
  Put("cpuset", "cpuset.cpus", "2-3\n");
  EXPECT_THAT(*cgroups_->Create("/a/b/c"), ElementsAre("/a/b", "/a/b/c"));
  EXPECT_EQ(*trees_["cpuset"]->Read("/a/b/c", "cpuset.cpus"), "2-3");
  EXPECT_EQ(*trees_["cpuset"]->Read("/a/b/c", "cpuset.mems"), "0-1");
  EXPECT_THAT(*cgroups_->Create("/a/b/c"), IsEmpty());
}

TEST_F(CgroupV1Test, WhatCannotBeLookedAtIsNotAbsent) {
  const NoDescriptors none;
  EXPECT_FALSE(cgroups_->Exists("/a/b").ok());
  EXPECT_FALSE(cgroups_->Processes("/a/b", false).ok());
  EXPECT_FALSE(absl::IsNotFound(cgroups_->Apply("/a/b", {})));
}

TEST_F(CgroupV1Test, CreateIsUndoneInEveryHierarchy) {
  trees_["pids"]->refuse["/x/y"] = ENOSPC;
  EXPECT_TRUE(absl::IsResourceExhausted(cgroups_->Create("/x/y").status()));
  EXPECT_FALSE(*cgroups_->Exists("/x"));
}

TEST_F(CgroupV1Test, AGroupThatOthersHaveInOneHierarchyIsNotOurs) {
  ASSERT_TRUE(trees_["memory"]->Make("/theirs").ok());
  EXPECT_THAT(*cgroups_->Create("/theirs/ours"), ElementsAre("/theirs/ours"));
  EXPECT_TRUE(*trees_["cpu"]->Exists("/theirs/ours"));
}

// The state after the last CPU of /a/b went: in that hierarchy all its processes are in /a.
TEST_F(CgroupV1Test, WhoWasMovedAboveForWantOfCpusIsMovedBack) {
  ASSERT_TRUE(cgroups_->Create("/a/b").ok());
  for (auto& [name, tree] : trees_) tree->Put("/a/b", "cgroup.procs", "10\n11\n12\n13\n");
  trees_["pids"]->Put("/a/b", "cgroup.procs", "10\n11\n12\n");
  trees_["cpuset"]->Put("/a/b", "cgroup.procs", "12\n");
  // Somebody else moved 13, 20 was never in /a/b, and 11 was moved to a place of its own.
  trees_["cpuset"]->Put("/a", "cgroup.procs", "10\n13\n20\n");
  ASSERT_TRUE(trees_["cpuset"]->Make("/elsewhere").ok());
  trees_["cpuset"]->Put("/elsewhere", "cgroup.procs", "11\n");
  trees_["cpuset"]->writes.clear();
  const absl::Status returned = cgroups_->ReturnToCpuset("/a/b");
  EXPECT_TRUE(returned.ok()) << returned;
  EXPECT_THAT(trees_["cpuset"]->writes, ElementsAre("/a/b/cgroup.procs=10"));
  EXPECT_TRUE(cgroups_->ReturnToCpuset("/none").ok());
}

TEST_F(CgroupV1Test, WhoCannotBeMovedBackIsToldUnlessItHasEnded) {
  ASSERT_TRUE(cgroups_->Create("/a/b").ok());
  for (auto& [name, tree] : trees_) tree->Put("/a/b", "cgroup.procs", "10\n");
  trees_["cpuset"]->Put("/a/b", "cgroup.procs", "");
  trees_["cpuset"]->Put("/", "cgroup.procs", "10\n");
  trees_["cpuset"]->refuse["/a/b/cgroup.procs"] = ESRCH;
  EXPECT_TRUE(cgroups_->ReturnToCpuset("/a/b").ok());
  trees_["cpuset"]->refuse["/a/b/cgroup.procs"] = ENOSPC;  // the group has no CPU yet
  EXPECT_THAT(std::string(cgroups_->ReturnToCpuset("/a/b").message()),
              HasSubstr("/a/b/cgroup.procs"));
}

TEST_F(CgroupV1Test, RaisesSwapBeforeMemoryAndLowersItAfter) {
  SetMemory(100 << 20, 100 << 20);
  ASSERT_TRUE(
      cgroups_->Apply("/a", {.memory_limit_bytes = 200 << 20, .memory_swap_limit_bytes = 200 << 20})
          .ok());
  EXPECT_THAT(trees_["memory"]->writes, ElementsAre("/a/memory.memsw.limit_in_bytes=209715200",
                                                    "/a/memory.limit_in_bytes=209715200"));
  SetMemory(200 << 20, 200 << 20);
  ASSERT_TRUE(
      cgroups_->Apply("/a", {.memory_limit_bytes = 100 << 20, .memory_swap_limit_bytes = 100 << 20})
          .ok());
  EXPECT_THAT(trees_["memory"]->writes, ElementsAre("/a/memory.limit_in_bytes=104857600",
                                                    "/a/memory.memsw.limit_in_bytes=104857600"));
}

TEST_F(CgroupV1Test, MemoryRaisedPastTheSumKeepsWhatMayBeSwapped) {
  SetMemory(100 << 20, 130 << 20);
  ASSERT_TRUE(cgroups_->Apply("/a", {.memory_limit_bytes = 120 << 20}).ok());
  EXPECT_EQ(Get("memory", "memory.memsw.limit_in_bytes"), absl::StrCat(130 << 20));
  SetMemory(100 << 20, 130 << 20);
  ASSERT_TRUE(cgroups_->Apply("/a", {.memory_limit_bytes = 200 << 20}).ok());
  EXPECT_EQ(Get("memory", "memory.memsw.limit_in_bytes"), absl::StrCat(230 << 20));
  ASSERT_TRUE(cgroups_->Apply("/a", {.memory_limit_bytes = -1}).ok());
  EXPECT_EQ(Get("memory", "memory.memsw.limit_in_bytes"), "-1");
  EXPECT_EQ(cgroups_->Read("/a")->memory_limit_bytes, -1);
}

TEST_F(CgroupV1Test, SwapBelowMemoryIsRefused) {
  SetMemory(100 << 20, 100 << 20);
  EXPECT_TRUE(
      absl::IsInvalidArgument(cgroups_->Apply("/a", {.memory_swap_limit_bytes = 50 << 20})));
  EXPECT_TRUE(absl::IsInvalidArgument(cgroups_->Apply(
      "/a", {.memory_limit_bytes = 60 << 20, .memory_swap_limit_bytes = 50 << 20})));
  EXPECT_THAT(trees_["memory"]->writes, IsEmpty());
}

TEST_F(CgroupV1Test, WithoutSwapAccountingOnlyNoSwapIsPossible) {
  ASSERT_TRUE(dir_.root().RemoveFile("memory/a/memory.memsw.limit_in_bytes").ok());
  EXPECT_TRUE(
      cgroups_->Apply("/a", {.memory_limit_bytes = 1 << 20, .memory_swap_limit_bytes = 1 << 20})
          .ok());
  EXPECT_TRUE(cgroups_->Apply("/a", {.memory_swap_limit_bytes = -1}).ok());
  EXPECT_TRUE(cgroups_->Apply("/a", {.memory_swap_limit_bytes = 1 << 20}).ok());
  const absl::Status status = cgroups_->Apply("/a", {.memory_swap_limit_bytes = 2 << 20});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("does not account swap"));
  EXPECT_EQ(cgroups_->Read("/a")->memory_swap_limit_bytes, std::nullopt);
}

TEST_F(CgroupV1Test, BusyMemoryIsExplainedAndUndone) {
  SetMemory(100 << 20, 100 << 20);
  Put("memory", "memory.usage_in_bytes", "99000000\n");
  trees_["memory"]->refuse["/a/memory.limit_in_bytes"] = EBUSY;
  const absl::Status status =
      cgroups_->Apply("/a", {.cpu_shares = 2, .memory_limit_bytes = 1 << 20, .pids_limit = 5});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("(99000000 bytes)"));
  EXPECT_THAT(status.message(), HasSubstr("1048576"));
  EXPECT_EQ(Get("cpu", "cpu.shares"), "1024");
  EXPECT_EQ(Get("pids", "pids.max"), "max");
}

TEST_F(CgroupV1Test, MemoryBelowWhatCanNotBeDroppedIsRefusedBeforeAnythingIsWritten) {
  SetMemory(100 << 20, 100 << 20);
  Put("memory", "memory.usage_in_bytes", "9000000\n");
  Put("memory", "memory.kmem.usage_in_bytes", "1000000\n");
  Put("memory", "memory.stat", "total_inactive_file 1500000\ntotal_active_file 500000\n");
  for (auto& [name, tree] : trees_) tree->writes.clear();
  const absl::Status status =
      cgroups_->Apply("/a", {.cpu_shares = 2, .memory_limit_bytes = 5'999'999});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("memory limit 5.72 MiB (5999999 bytes): cgroup /a uses "
                                          "8.58 MiB (9000000 bytes), and only 2.86 MiB (3000000 "
                                          "bytes) can be reclaimed"));
  for (const auto& [name, tree] : trees_) EXPECT_THAT(tree->writes, IsEmpty()) << name;
  EXPECT_TRUE(cgroups_->Apply("/a", {.memory_limit_bytes = 6'000'000}).ok());
}

TEST_F(CgroupV1Test, AnUndoThatFailsIsSaid) {
  SetMemory(100 << 20, 100 << 20);
  trees_["memory"]->refuse["/a/memory.limit_in_bytes"] = EIO;
  // Accepts one write, then refuses: only the way back fails.
  class Once : public FakeCgroupTree {
   public:
    using FakeCgroupTree::FakeCgroupTree;
    absl::Status Write(absl::string_view group, absl::string_view file,
                       absl::string_view value) override {
      if (++count > 1) return ErrnoStatus(EPERM, absl::StrCat("write ", group, "/", file));
      return FakeCgroupTree::Write(group, file, value);
    }
    int count = 0;
  };
  auto once = std::make_shared<Once>(*dir_.root().Sub("pids"),
                                     FakeCgroupTree::Files{{"pids", {{"pids.max", "max"}}}}, false);
  CgroupV1 cgroups({{once, {"pids"}}, hierarchies_[2]}, nullptr);
  const absl::Status status = cgroups.Apply("/a", {.memory_limit_bytes = 1 << 20, .pids_limit = 5});
  EXPECT_THAT(status.message(), HasSubstr("memory.limit_in_bytes"));
  EXPECT_THAT(status.message(), HasSubstr("not set back: write /a/pids.max"));
}

// After each write the rate must lie between the old and the new one, or be unlimited.
TEST_F(CgroupV1Test, QuotaAndPeriodAreWrittenInALegalOrder) {
  const auto writes = [this](int64_t quota, uint64_t period) {
    EXPECT_TRUE(cgroups_->Apply("/a", {.cpu_quota_us = quota, .cpu_period_us = period}).ok());
    return trees_["cpu"]->writes;
  };
  SetCpu(50000, 100000);  // 0.5 -> 0.5, through 0.25 or 1: neither will do
  EXPECT_THAT(writes(100000, 200000),
              ElementsAre("/a/cpu.cfs_quota_us=-1", "/a/cpu.cfs_period_us=200000",
                          "/a/cpu.cfs_quota_us=100000"));
  SetCpu(50000, 100000);  // 0.5 -> 2, through 1
  EXPECT_THAT(writes(100000, 50000),
              ElementsAre("/a/cpu.cfs_period_us=50000", "/a/cpu.cfs_quota_us=100000"));
  SetCpu(50000, 100000);  // 0.5 -> 0.4: quota first gives 0.8, period first 0.25
  EXPECT_THAT(writes(80000, 200000),
              ElementsAre("/a/cpu.cfs_quota_us=-1", "/a/cpu.cfs_period_us=200000",
                          "/a/cpu.cfs_quota_us=80000"));
  SetCpu(-1, 100000);  // unlimited -> 0.5: the period does not matter yet
  EXPECT_THAT(writes(25000, 50000),
              ElementsAre("/a/cpu.cfs_period_us=50000", "/a/cpu.cfs_quota_us=25000"));
  SetCpu(50000, 100000);  // 0.5 -> unlimited
  EXPECT_THAT(writes(-1, 200000),
              ElementsAre("/a/cpu.cfs_quota_us=-1", "/a/cpu.cfs_period_us=200000"));
}

TEST_F(CgroupV1Test, ValuesOutOfRangeTouchNothing) {
  const CgroupSettings wrong[] = {
      {.cpu_shares = 1},
      {.cpu_shares = 262145},
      {.cpu_quota_us = 999},
      {.cpu_quota_us = -2},
      {.cpu_period_us = 999},
      {.cpu_period_us = 1000001},
      {.cpuset_cpus = "0-"},
      {.cpuset_cpus = "3-1"},
      {.cpuset_cpus = "a"},
      {.cpuset_mems = "0,,1"},
      {.cpuset_mems = " 0"},
      {.memory_limit_bytes = 0},
      {.memory_limit_bytes = -2},
      {.memory_swap_limit_bytes = 0},
      {.pids_limit = 0},
      {.pids_limit = -2},
      {.hugetlb_limits = {{"../x", 1}}},
  };
  for (CgroupSettings settings : wrong) {
    if (!settings.pids_limit.has_value()) settings.pids_limit = 9;
    const absl::Status status = cgroups_->Apply("/a", settings);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_EQ(Get("pids", "pids.max"), "max");
}

TEST_F(CgroupV1Test, AControllerThatIsMissingIsAPrecondition) {
  const absl::Status status =
      cgroups_->Apply("/a", {.pids_limit = 9, .hugetlb_limits = {{"2MB", 0}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("\"hugetlb\"; it has cpu, cpuset, memory, pids"));
  EXPECT_EQ(Get("pids", "pids.max"), "max");
  ASSERT_TRUE(dir_.root().RemoveFile("cpu/a/cpu.cfs_quota_us").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(cgroups_->Apply("/a", {.cpu_quota_us = 5000})));
}

TEST_F(CgroupV1Test, FilesOfVersionTwoAreRefused) {
  const absl::Status status =
      cgroups_->Apply("/a", {.pids_limit = 9, .unified = {{"memory.low", "4096"}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("unified \"memory.low\""));
  EXPECT_EQ(Get("pids", "pids.max"), "max");
}

TEST_F(CgroupV1Test, HugetlbByPageSize) {
  Add("hugetlb", {{"hugetlb.2MB.limit_in_bytes", "9223372036853727232\n"},
                  {"hugetlb.1GB.limit_in_bytes", "9223372035781033984\n"}});
  CgroupV1 cgroups(hierarchies_, nullptr);
  ASSERT_TRUE(cgroups.Create("/a").ok());
  EXPECT_THAT(cgroups.Read("/a")->hugetlb_limits, IsEmpty());
  ASSERT_TRUE(cgroups.Apply("/a", {.hugetlb_limits = {{"2MB", 4 << 20}}}).ok());
  EXPECT_THAT(cgroups.Read("/a")->hugetlb_limits,
              ElementsAre(std::pair<const std::string, uint64_t>("2MB", 4 << 20)));
  const absl::Status status = cgroups.Apply("/a", {.hugetlb_limits = {{"64KB", 0}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("64KB"));
}

TEST_F(CgroupV1Test, AnEmptyCpusetIsTheParents) {
  Put("cpuset", "cpuset.cpus", "1\n");
  ASSERT_TRUE(cgroups_->Apply("/a", {.cpuset_cpus = ""}).ok());
  EXPECT_EQ(Get("cpuset", "cpuset.cpus"), "0-7");
}

// Each write leaves every group within its parent.
TEST_F(CgroupV1Test, GroupsBelowWithTheSameCpusFollow) {
  ASSERT_TRUE(cgroups_->Create("/a/b/c").ok());
  trees_["cpuset"]->Put("/a/b", "cpuset.cpus", "2\n");
  trees_["cpuset"]->Put("/a/b/c", "cpuset.cpus", "2\n");
  Put("cpuset", "cpuset.cpus", "2\n");
  trees_["cpuset"]->writes.clear();
  ASSERT_TRUE(cgroups_->Apply("/a", {.cpuset_cpus = "3-4"}).ok());
  EXPECT_THAT(
      trees_["cpuset"]->writes,
      ElementsAre("/a/cpuset.cpus=2,3-4", "/a/b/cpuset.cpus=2,3-4", "/a/b/c/cpuset.cpus=2,3-4",
                  "/a/b/c/cpuset.cpus=3-4", "/a/b/cpuset.cpus=3-4", "/a/cpuset.cpus=3-4"));
  // A group with a list of its own keeps it.
  trees_["cpuset"]->Put("/a/b", "cpuset.cpus", "4\n");
  trees_["cpuset"]->Put("/a/b/c", "cpuset.cpus", "4\n");
  ASSERT_TRUE(cgroups_->Apply("/a", {.cpuset_cpus = "2-5"}).ok());
  EXPECT_EQ(*trees_["cpuset"]->Read("/a/b", "cpuset.cpus"), "4");
}

TEST_F(CgroupV1Test, OomKillsOfGroupsBelowCount) {
  ASSERT_TRUE(cgroups_->Create("/a/b").ok());
  Put("memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  trees_["memory"]->Put("/a/b", "memory.oom_control", "oom_kill 3\n");
  EXPECT_EQ(*cgroups_->OomKills("/a"), 5u);
  EXPECT_EQ(*cgroups_->OomKills("/a/b"), 3u);
  EXPECT_TRUE(absl::IsNotFound(cgroups_->OomKills("/none").status()));
}

TEST_F(CgroupV1Test, ProcessesOfEveryHierarchyAreSeen) {
  Put("memory", "cgroup.procs", "4711\n4713\n");
  Put("cpu", "cgroup.procs", "4712\n4711\n");
  EXPECT_THAT(*cgroups_->Processes("/a", /*recursive=*/true), ElementsAre(4711, 4712, 4713));
  EXPECT_TRUE(absl::IsFailedPrecondition(cgroups_->Remove("/a")));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Processes("/none", true).status()));
}

TEST_F(CgroupV1Test, GroupsOfOthersUnderOurPathGoToo) {
  Add("systemd", {});
  hierarchies_.back().controllers.clear();
  ASSERT_TRUE(dir_.root().MakeDirs("unified").ok());
  auto unified = std::make_shared<FakeCgroupTree>(*dir_.root().Sub("unified"),
                                                  FakeCgroupTree::Files{}, /*v2=*/false);
  CgroupV1 cgroups(hierarchies_, unified);
  EXPECT_EQ(cgroups.layout(), CgroupLayout::kHybrid);
  ASSERT_TRUE(cgroups.Create("/p").ok());
  EXPECT_FALSE(*unified->Exists("/p"));
  EXPECT_FALSE(*trees_["systemd"]->Exists("/p"));
  ASSERT_TRUE(unified->Make("/p").ok());
  ASSERT_TRUE(unified->Make("/p/c").ok());
  ASSERT_TRUE(trees_["systemd"]->Make("/p").ok());
  ASSERT_TRUE(cgroups.Remove("/p").ok());
  EXPECT_FALSE(*cgroups.Exists("/p"));
  EXPECT_FALSE(*unified->Exists("/p"));
}

TEST_F(CgroupV1Test, WhatIsReadIsWhatTheFilesSayNow) {
  Put("cpu", "cpu.cfs_quota_us", "50000\n");
  Put("memory", "memory.limit_in_bytes", "4194304\n");
  CgroupSettings expected = {.cpu_shares = 1024,
                             .cpu_quota_us = 50000,
                             .cpu_period_us = 100000,
                             .cpuset_cpus = "0-7",
                             .cpuset_mems = "0-1",
                             .memory_limit_bytes = 4 << 20,
                             .memory_swap_limit_bytes = -1,
                             .pids_limit = -1};
  EXPECT_EQ(*cgroups_->Read("/a"), expected);
  Put("pids", "pids.max", "9\n");  // by somebody else
  expected.pids_limit = 9;
  EXPECT_EQ(*cgroups_->Read("/a"), expected);
}

TEST_F(CgroupV1Test, WhatAHierarchyLacksIsLeftOut) {
  ASSERT_TRUE(trees_["pids"]->Make("/only").ok());
  EXPECT_EQ(*cgroups_->Read("/only"), (CgroupSettings{.pids_limit = -1}));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Read("/none").status()));
  const NoDescriptors none;
  EXPECT_TRUE(absl::IsResourceExhausted(cgroups_->Read("/a").status()));
}

TEST_F(CgroupV1Test, AGroupOfNoControllerIsThereWithoutLimits) {
  ASSERT_TRUE(dir_.root().MakeDirs("systemd").ok());
  const auto named = std::make_shared<FakeCgroupTree>(*dir_.root().Sub("systemd"),
                                                      FakeCgroupTree::Files{}, /*v2=*/false);
  ASSERT_TRUE(named->Make("/s").ok());
  hierarchies_.push_back({named, {}});
  const CgroupV1 cgroups(hierarchies_, nullptr);
  EXPECT_EQ(*cgroups.Read("/s"), CgroupSettings());
}

TEST_F(CgroupV1Test, StatsCountThoseBelowAndKeepSwapApart) {
  Put("memory", "memory.usage_in_bytes", "9000\n");
  Put("memory", "memory.stat",
      "rss 1\nswap 2\npgfault 3\ntotal_rss 500\ntotal_swap 4096\ntotal_inactive_file 1000\n"
      "total_pgfault 30\ntotal_pgmajfault 4\n");
  const auto stats = cgroups_->Stats("/a");
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->memory_usage_bytes, 9000u);
  EXPECT_EQ(stats->memory_working_set_bytes, 8000u);
  EXPECT_EQ(stats->memory_rss_bytes, 500u);
  EXPECT_EQ(stats->swap_usage_bytes, 4096u) << "which memory.usage_in_bytes leaves out";
  EXPECT_EQ(stats->page_faults, 30u);
  EXPECT_EQ(stats->major_page_faults, 4u);

  // The files after a boot with swapaccount=0.
  Put("memory", "memory.stat", "total_rss 500\ntotal_inactive_file 1000\n");
  EXPECT_EQ(cgroups_->Stats("/a")->swap_usage_bytes, std::nullopt);
}

}  // namespace
}  // namespace plimsoll::linux
