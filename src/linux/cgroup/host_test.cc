// Tests this machine's kernel, whatever its layout, in groups of the test's own.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/merge.h"
#include "linux/process.h"

namespace plimsoll::linux {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CgroupHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make cgroups";
    auto cgroups = CgroupManager::Detect(root_);
    if (!cgroups.ok()) GTEST_SKIP() << cgroups.status();
    cgroups_ = *std::move(cgroups);
    const auto made = cgroups_->Create(group_);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_THAT(*made, ElementsAre(group_));
  }
  void TearDown() override {
    if (cgroups_ == nullptr) return;
    EXPECT_TRUE(cgroups_->KillAll(group_, absl::Now() + absl::Seconds(20)).ok());
    for (Child& child : children_) child.Wait(absl::Now() + absl::Seconds(20)).IgnoreError();
    const absl::Status removed = cgroups_->Remove(group_);
    EXPECT_TRUE(removed.ok()) << removed;
    EXPECT_FALSE(*cgroups_->Exists(group_));
  }

  bool Has(const char* controller) {
    return absl::c_linear_search(cgroups_->Controllers(), controller);
  }
  // A program that begins only once it knows that it is in its group.
  pid_t Start(const std::string& group, const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", absl::StrCat("kill -STOP $$; ", script)};
    children_.push_back(*Spawn(command));
    const pid_t pid = children_.back().pid();
    EXPECT_TRUE(WaitFor([&] { return StateOf(pid) == 'T'; })) << "shell did not stop";
    const absl::Status added = cgroups_->AddProcess(group, pid);
    EXPECT_TRUE(added.ok()) << added;
    EXPECT_TRUE(children_.back().Signal(SIGCONT).ok());
    return pid;
  }
  char StateOf(pid_t pid) {
    const auto text = root_.Read(absl::StrCat("proc/", pid, "/stat"));
    if (!text.ok()) return '?';
    return (*text)[text->rfind(')') + 2];
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return condition();
  }
  // In a child: once `go` gives a byte, one of several threads executes a program.
  [[noreturn]] static void ExecuteWithThreads(int go) {
    for (size_t i = 0; i < kThreads; ++i) std::thread([] { pause(); }).detach();
    char byte;
    if (read(go, &byte, 1) == 1) execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  size_t ProcessCount() { return cgroups_->Processes(group_, /*recursive=*/true)->size(); }

  static constexpr size_t kThreads = 4;
  FsRoot root_ = *FsRoot::Open("/");
  const std::string group_ = absl::StrCat("/plimsoll-test-", getpid());
  std::unique_ptr<CgroupManager> cgroups_;
  std::vector<Child> children_;
};

TEST_F(CgroupHostTest, LimitsAreReadBackAsSet) {
  CgroupSettings settings;
  if (Has("cpu")) {
    settings.cpu_shares = CpuWeightToShares(CpuSharesToWeight(512));
    settings.cpu_quota_us = 30000;
    settings.cpu_period_us = 60000;
  }
  if (Has("memory")) settings.memory_limit_bytes = 64 << 20;
  if (Has("pids")) settings.pids_limit = 42;
  if (Has("cpuset")) {
    settings.cpuset_cpus = "0";
    settings.cpuset_mems = "0";
  }
  const absl::Status applied = cgroups_->Apply(group_, settings);
  ASSERT_TRUE(applied.ok()) << applied;
  const auto now = cgroups_->Read(group_);
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->cpu_shares, settings.cpu_shares);
  EXPECT_EQ(now->cpu_quota_us, settings.cpu_quota_us);
  EXPECT_EQ(now->cpu_period_us, settings.cpu_period_us);
  EXPECT_EQ(now->memory_limit_bytes, settings.memory_limit_bytes);
  EXPECT_EQ(now->pids_limit, settings.pids_limit);
  EXPECT_EQ(now->cpuset_cpus, settings.cpuset_cpus);
  // Values just read are legal to write.
  EXPECT_TRUE(cgroups_->Apply(group_, *now).ok());
}

// Groups that a container makes below its own must not keep it from moving to other CPUs.
TEST_F(CgroupHostTest, GroupsBelowFollowToOtherCpus) {
  if (!Has("cpuset")) GTEST_SKIP() << "no cpuset controller";
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  const std::string inner = group_ + "/inner";
  ASSERT_TRUE(cgroups_->Create(inner).ok());
  for (const char* cpus : {"0", "1", "0-1", "1", ""}) {
    const absl::Status applied = cgroups_->Apply(group_, {.cpuset_cpus = cpus});
    ASSERT_TRUE(applied.ok()) << applied;
    const char* file =
        cgroups_->layout() == CgroupLayout::kV2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
    EXPECT_EQ(*cgroups_->ReadFile(inner, "cpuset", file),
              *cgroups_->ReadFile(group_, "cpuset", file));
    if (*cpus != 0) {
      EXPECT_EQ(*cgroups_->ReadFile(inner, "cpuset", file), cpus);
    }
  }
}

// The kernel refuses to empty a v2 cpuset that has processes.
TEST_F(CgroupHostTest, AGroupWithProcessesGetsAllCpusBack) {
  if (!Has("cpuset")) GTEST_SKIP() << "no cpuset controller";
  const CgroupSettings before = *cgroups_->Read(group_);
  ASSERT_TRUE(cgroups_->Apply(group_, {.cpuset_cpus = "0", .cpuset_mems = "0"}).ok());
  Start(group_, "sleep 1000");
  const absl::Status applied = cgroups_->Apply(group_, {.cpuset_cpus = "", .cpuset_mems = ""});
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(cgroups_->Read(group_)->cpuset_cpus, before.cpuset_cpus);
  EXPECT_EQ(cgroups_->Read(group_)->cpuset_mems, before.cpuset_mems);
  const char* file =
      cgroups_->layout() == CgroupLayout::kV2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
  EXPECT_EQ(*cgroups_->ReadFile(group_, "cpuset", file), *cgroups_->ReadFile("/", "cpuset", file));
  // A failed change is undone, whichever way the cpuset can be given back.
  ASSERT_TRUE(cgroups_->Apply(group_, {.pids_limit = 10}).ok());
  EXPECT_FALSE(cgroups_->Apply(group_, {.cpuset_cpus = "0", .cpuset_mems = "4000"}).ok());
  EXPECT_EQ(cgroups_->Read(group_)->cpuset_cpus, before.cpuset_cpus);
}

// A v1 kernel moves processes so when the group's last CPU goes.
TEST_F(CgroupHostTest, WhoIsAboveItsCpusetComesBack) {
  if (cgroups_->layout() == CgroupLayout::kV2) GTEST_SKIP() << "a v2 kernel moves nobody";
  if (!Has("cpuset") || !Has("memory")) GTEST_SKIP() << "no cpuset or no memory controller";
  const std::string inner = group_ + "/inner";
  ASSERT_TRUE(cgroups_->Create(inner).ok());
  const pid_t moved = Start(inner, "exec sleep 1000");
  const pid_t parents = Start(group_, "exec sleep 1000");
  ASSERT_TRUE(cgroups_->WriteFile(group_, "cpuset", "cgroup.procs", absl::StrCat(moved)).ok());
  ASSERT_EQ(*cgroups_->ReadFile(inner, "cpuset", "cgroup.procs"), "");
  const absl::Status returned = cgroups_->ReturnToCpuset(inner);
  ASSERT_TRUE(returned.ok()) << returned;
  EXPECT_EQ(*cgroups_->ReadFile(inner, "cpuset", "cgroup.procs"), absl::StrCat(moved));
  EXPECT_EQ(*cgroups_->ReadFile(group_, "cpuset", "cgroup.procs"), absl::StrCat(parents));
}

TEST_F(CgroupHostTest, MemoryAndSwapGoUpAndDownAndAway) {
  if (!Has("memory")) GTEST_SKIP() << "no memory controller";
  const bool has_swap = cgroups_->Read(group_)->memory_swap_limit_bytes.has_value();
  EXPECT_EQ(cgroups_->Read(group_)->memory_limit_bytes, -1);
  for (const int64_t mib : {100, 400, 50, 51}) {
    const absl::Status status = cgroups_->Apply(
        group_, {.memory_limit_bytes = mib << 20, .memory_swap_limit_bytes = mib << 20});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(cgroups_->Read(group_)->memory_limit_bytes, mib << 20);
    if (has_swap) {
      EXPECT_EQ(cgroups_->Read(group_)->memory_swap_limit_bytes, mib << 20);
    }
  }
  ASSERT_TRUE(cgroups_->Apply(group_, {.memory_limit_bytes = 200 << 20}).ok());
  if (has_swap) {
    EXPECT_EQ(cgroups_->Read(group_)->memory_swap_limit_bytes, 200 << 20);
  }
  ASSERT_TRUE(
      cgroups_->Apply(group_, {.memory_limit_bytes = -1, .memory_swap_limit_bytes = -1}).ok());
  EXPECT_EQ(cgroups_->Read(group_)->memory_limit_bytes, -1);
}

// Updates like those of clients; the kernel refuses some because of its present values.
class RandomUpdates {
 public:
  RandomUpdates(unsigned seed, bool swap, bool raw) : random_(seed), swap_(swap), raw_(raw) {}

  CgroupSettings Next() {
    CgroupSettings update;
    if (Once(3)) update.cpu_shares = 2 + static_cast<uint64_t>(Any(1000));
    if (Once(3)) update.cpu_quota_us = Once(4) ? -1 : 1000 * (1 + Any(100));
    if (Once(4)) update.cpu_period_us = 10000 * (1 + static_cast<uint64_t>(Any(10)));
    if (Once(2)) update.memory_limit_bytes = Once(5) ? -1 : (16 + 16 * Any(8)) << 20;
    if (swap_ && Once(3)) update.memory_swap_limit_bytes = Once(5) ? -1 : (16 + 16 * Any(12)) << 20;
    if (!raw_) return update;
    const std::pair<const char*, std::vector<std::string>> files[] = {
        {"cpu.max", {"max", "30000", "40000 80000"}},
        {"cpu.weight", {"7", "300"}},
        {"cpu.weight.nice", {"-5", "10"}},
        {"memory.high", {"max", "1G"}},
        {"memory.max", {"max", "48M", "0x6000000"}},
    };
    for (const auto& [file, values] : files) {
      if (Once(6)) update.unified[file] = values[static_cast<size_t>(Any(values.size()))];
    }
    if (swap_ && Once(6)) update.unified["memory.swap.max"] = Once(2) ? "0" : "16M";
    return update;
  }

 private:
  int64_t Any(size_t below) {
    return std::uniform_int_distribution<int64_t>(0, static_cast<int64_t>(below) - 1)(random_);
  }
  bool Once(size_t in) { return Any(in) == 0; }

  std::minstd_rand random_;
  const bool swap_;
  const bool raw_;
};

// The merge of all accepted updates is legal at once, whether the last of them was applied yet or
// not, and equals the kernel's values.
TEST_F(CgroupHostTest, MergedUpdatesAreWhatTheKernelHolds) {
  if (!Has("memory") || !Has("cpu")) GTEST_SKIP() << "needs the memory and cpu controllers";
  const bool is_v2 = cgroups_->layout() == CgroupLayout::kV2;
  const std::string cut = group_ + "/cut";
  const std::string live = group_ + "/live";
  ASSERT_TRUE(cgroups_->Create(cut).ok());
  ASSERT_TRUE(cgroups_->Create(live).ok());
  const auto held = [&](const std::string& group) {
    CgroupSettings settings = *cgroups_->Read(group);
    for (const char* file : {"cpu.max", "cpu.weight", "memory.high", "memory.swap.max"}) {
      if (is_v2) settings.unified[file] = cgroups_->ReadFile(group, "", file).value_or("none");
    }
    return settings;
  };
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const bool has_swap = cgroups_->Read(live)->memory_swap_limit_bytes.has_value();
  RandomUpdates updates(seed, has_swap, is_v2);
  CgroupSettings row;
  int taken = 0;
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const CgroupSettings update = updates.Next();
    if (!cgroups_->Apply(live, update).ok()) continue;
    ++taken;
    MergeUpdate(update, cgroups_->layout(), &row);
    const CgroupSettings expected = held(live);
    for (const std::string& group : {cut, live}) {
      const absl::Status finished = cgroups_->Apply(group, row);
      EXPECT_TRUE(finished.ok()) << "step " << i << ", " << group << ": " << finished;
      EXPECT_EQ(held(group), expected) << "step " << i << ", " << group;
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_TRUE(cgroups_->Remove(cut).ok());
  EXPECT_TRUE(cgroups_->Remove(live).ok());
}

TEST_F(CgroupHostTest, QuotaStaysLegalBelowALimitedParent) {
  if (!Has("cpu")) GTEST_SKIP() << "no cpu controller";
  const std::string child = group_ + "/c";
  ASSERT_TRUE(cgroups_->Create(child).ok());
  ASSERT_TRUE(cgroups_->Apply(group_, {.cpu_quota_us = 50000, .cpu_period_us = 100000}).ok());
  const std::pair<int64_t, uint64_t> steps[] = {{50000, 100000}, {100000, 200000},  {25000, 50000},
                                                {10000, 100000}, {500000, 1000000}, {1000, 10000},
                                                {-1, 20000},     {10000, 20000}};
  for (const auto& [quota, period] : steps) {
    const absl::Status status =
        cgroups_->Apply(child, {.cpu_quota_us = quota, .cpu_period_us = period});
    ASSERT_TRUE(status.ok()) << quota << "/" << period << ": " << status;
    EXPECT_EQ(cgroups_->Read(child)->cpu_quota_us, quota);
    EXPECT_EQ(cgroups_->Read(child)->cpu_period_us, period);
  }
  if (cgroups_->layout() == CgroupLayout::kV2) return;  // v2 accepts more than the parent's
  const absl::Status refused =
      cgroups_->Apply(child, {.cpu_shares = 77, .cpu_quota_us = 90000, .cpu_period_us = 100000});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("cpu.cfs_quota_us"));
  EXPECT_EQ(cgroups_->Read(child)->cpu_quota_us, 10000);
  EXPECT_EQ(cgroups_->Read(child)->cpu_period_us, 20000u);
  EXPECT_EQ(cgroups_->Read(child)->cpu_shares, 1024u);
}

TEST_F(CgroupHostTest, ARefusedStepUndoesTheOthers) {
  if (!Has("cpuset") || !Has("pids")) GTEST_SKIP() << "needs the cpuset and pids controllers";
  if (cgroups_->layout() == CgroupLayout::kV2) GTEST_SKIP() << "v2 takes CPUs that don't exist";
  const CgroupSettings before = *cgroups_->Read(group_);
  const absl::Status status =
      cgroups_->Apply(group_, {.cpu_shares = 100, .cpuset_cpus = "4000", .pids_limit = 5});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("\"4000\""));
  EXPECT_EQ(*cgroups_->Read(group_), before);
}

TEST_F(CgroupHostTest, LimitsBelowUseAreRefusedAndNothingChanges) {
  if (!Has("memory") || !Has("cpu")) GTEST_SKIP() << "needs the memory and cpu controllers";
  // 24 MiB of anonymous memory: `tail` keeps the last line, and all of it is one line.
  Start(group_, "(head -c 25165824 /dev/zero; sleep 60) | tail -n 1");
  ASSERT_TRUE(WaitFor([&] { return cgroups_->Stats(group_)->memory_rss_bytes > (20 << 20); }));
  const CgroupSettings before = *cgroups_->Read(group_);
  const absl::Status status = cgroups_->Apply(
      group_,
      {.cpu_shares = 100, .memory_limit_bytes = 4 << 20, .memory_swap_limit_bytes = 4 << 20});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("uses"));
  EXPECT_EQ(*cgroups_->Read(group_), before);
  EXPECT_GE(ProcessCount(), 3u) << "nothing was killed";
}

TEST_F(CgroupHostTest, StatsFollowTheWorkload) {
  Start(group_,
        "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; "
        "(head -c 8388608 /dev/zero; sleep 60) | tail -n 1");
  if (Has("cpuacct") || cgroups_->layout() == CgroupLayout::kV2) {
    EXPECT_TRUE(WaitFor([&] { return cgroups_->Stats(group_)->cpu_usage_ns > 1'000'000; }));
  }
  if (Has("memory")) {
    EXPECT_TRUE(WaitFor([&] { return cgroups_->Stats(group_)->memory_rss_bytes > (4 << 20); }));
  }
  const auto stats = cgroups_->Stats(group_);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GE(stats->process_count, 1u);
  EXPECT_LE(stats->memory_working_set_bytes, stats->memory_usage_bytes);
  if (cgroups_->layout() == CgroupLayout::kV2 && FsRoot::Open("/")->Exists("proc/pressure/cpu")) {
    EXPECT_TRUE(stats->cpu_pressure.has_value());
  }
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Stats(group_ + "/none").status()));
}

TEST_F(CgroupHostTest, KillsATreeThatForks) {
  const std::string below = group_ + "/deep/er";
  ASSERT_TRUE(cgroups_->Create(below).ok());
  // v2 takes no processes where there are groups with controllers below.
  Start(below, "for i in 1 2 3 4 5; do sleep 60 & done; while :; do sleep 0.001; done");
  Start(below, "trap '' TERM; setsid sh -c 'sleep 60 & sleep 60' & wait");
  ASSERT_TRUE(WaitFor([&] { return ProcessCount() >= 8; }));
  const absl::Status killed = cgroups_->KillAll(group_, absl::Now() + absl::Seconds(20));
  EXPECT_TRUE(killed.ok()) << killed;
  EXPECT_EQ(ProcessCount(), 0u);
  EXPECT_TRUE(*cgroups_->Exists(below)) << "the groups stay";
  EXPECT_TRUE(cgroups_->KillAll(group_, absl::Now() + absl::Seconds(20)).ok()) << "again is fine";
  EXPECT_TRUE(cgroups_->KillAll(group_ + "/none", absl::Now()).ok());
}

TEST_F(CgroupHostTest, KillsAGroupThatIsFrozen) {
  const bool is_v2 = cgroups_->layout() == CgroupLayout::kV2;
  if (!is_v2 && !Has("freezer")) GTEST_SKIP() << "no freezer controller";
  const std::string below = group_ + "/frozen";
  ASSERT_TRUE(cgroups_->Create(below).ok());
  Start(below, "exec sleep 60");
  const std::string file = is_v2 ? absl::StrCat("sys/fs/cgroup", below, "/cgroup.freeze")
                                 : absl::StrCat("sys/fs/cgroup/freezer", below, "/freezer.state");
  const absl::Status frozen = root_.Write(file, is_v2 ? "1" : "FROZEN");
  if (absl::IsNotFound(frozen)) GTEST_SKIP() << "the freezer is mounted elsewhere";
  ASSERT_TRUE(frozen.ok()) << frozen;
  const absl::Status killed = cgroups_->KillAll(group_, absl::Now() + absl::Seconds(20));
  EXPECT_TRUE(killed.ok()) << killed;
}

TEST_F(CgroupHostTest, OnV1ACpusetThatLeavesOutAGroupsBelowIsToldAsSuch) {
  if (cgroups_->layout() == CgroupLayout::kV2) GTEST_SKIP() << "v2 takes any";
  const auto cpus = root_.Read("sys/devices/system/cpu/online");
  if (!Has("cpuset") || !cpus.ok() || *cpus == "0\n") GTEST_SKIP() << "needs two CPUs";
  const std::string below = group_ + "/below";
  ASSERT_TRUE(cgroups_->Create(below).ok());
  CgroupSettings settings;
  settings.cpuset_cpus = "1";
  ASSERT_TRUE(cgroups_->Apply(below, settings).ok());
  settings.cpuset_cpus = "0";
  const absl::Status refused = cgroups_->Apply(group_, settings);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("groups below it with CPUs"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("of memory, and the kernel")));
}

TEST_F(CgroupHostTest, NeverKillsItself) {
  EXPECT_TRUE(absl::IsInvalidArgument(cgroups_->KillAll("/", absl::Now() + absl::Seconds(1))));
}

TEST_F(CgroupHostTest, RemoveNamesWhoIsStillThere) {
  const pid_t pid = Start(group_, "exec sleep 60");
  const absl::Status status = cgroups_->Remove(group_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(pid)));
  EXPECT_TRUE(*cgroups_->Exists(group_));
  EXPECT_THAT(*cgroups_->Processes(group_, /*recursive=*/false), Contains(pid));
}

TEST_F(CgroupHostTest, WhoeverIsInAGroupKeepsIt) {
  const std::string inner = group_ + "/inner";
  ASSERT_TRUE(cgroups_->Create(inner).ok());
  Start(inner, "exec sleep 60");
  for (const std::string& group : {group_, inner}) {
    const absl::Status status = cgroups_->RemoveIfUnused(group);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(*cgroups_->Exists(group));
  }
  EXPECT_TRUE(cgroups_->KillAll(inner, absl::Now() + absl::Seconds(20)).ok());
  EXPECT_TRUE(WaitFor([&] { return cgroups_->Processes(inner, true)->empty(); }));
  for (const std::string& group : {inner, group_}) {
    const absl::Status status = cgroups_->RemoveIfUnused(group);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_FALSE(*cgroups_->Exists(group));
  }
}

TEST_F(CgroupHostTest, OomKillsAreCounted) {
  if (!Has("memory")) GTEST_SKIP() << "no memory controller";
  EXPECT_EQ(*cgroups_->OomKills(group_), 0u);
  ASSERT_TRUE(
      cgroups_->Apply(group_, {.memory_limit_bytes = 8 << 20, .memory_swap_limit_bytes = 8 << 20})
          .ok());
  Start(group_, "head -c 67108864 /dev/zero | tail -n 1");
  EXPECT_TRUE(WaitFor([&] { return *cgroups_->OomKills(group_) > 0; }));
}

TEST_F(CgroupHostTest, WhatIsNotThereIsNotFound) {
  const std::string none = group_ + "/none";
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Read(none).status()));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Apply(none, {.pids_limit = 5})));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->AddProcess(none, getpid())));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Processes(none, true).status()));
  EXPECT_TRUE(cgroups_->Remove(none).ok());
  Child gone = *Spawn({.argv = {"/bin/true"}});
  ASSERT_TRUE(gone.Wait(absl::Now() + absl::Seconds(20)).ok());
  EXPECT_TRUE(absl::IsNotFound(cgroups_->AddProcess(group_, gone.pid())));
}

TEST_F(CgroupHostTest, AFrozenGroupRunsNoThread) {
  const pid_t pid = Start(group_, "printf busy > /proc/$$/comm; while :; do :; done");
  EXPECT_THAT(*cgroups_->Threads(group_), ElementsAre(pid));
  // A v2 kernel counts a stopped process as frozen until it runs again. So a group frozen in
  // between reports frozen while the process is still on its way from stopped to frozen.
  const std::string name = absl::StrCat("proc/", pid, "/comm");
  ASSERT_TRUE(WaitFor([&] { return root_.Read(name).value_or("") == "busy\n"; }));
  const auto frozen = cgroups_->Freeze(group_, absl::Now() + absl::Seconds(20));
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_TRUE(*frozen);
  EXPECT_NE(StateOf(pid), 'R');
  const auto again = cgroups_->Freeze(group_, absl::Now() + absl::Seconds(20));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again) << "what another has frozen is not ours to thaw";
  ASSERT_TRUE(cgroups_->Thaw(group_).ok());
  EXPECT_TRUE(WaitFor([&] { return StateOf(pid) == 'R'; }));
}

// On v1 a process that executes a program waits for its other threads, and they for the thaw.
TEST_F(CgroupHostTest, AGroupWhoseProcessesReplaceTheirProgramsIsFrozen) {
  if (cgroups_->layout() != CgroupLayout::kV2 && !Has("freezer")) {
    GTEST_SKIP() << "no freezer controller";
  }
#ifdef ABSL_HAVE_THREAD_SANITIZER
  GTEST_SKIP() << "tsan starts no threads in a child of a process with threads";
#endif
  for (int round = 0; round < 20; ++round) {
    int go[2];
    ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
    std::vector<pid_t> pids;
    for (int i = 0; i < 8; ++i) {
      pids.push_back(fork());
      ASSERT_GE(pids.back(), 0);
      if (pids.back() == 0) ExecuteWithThreads(go[0]);
      EXPECT_TRUE(cgroups_->AddProcess(group_, pids.back()).ok());
    }
    for (const pid_t pid : pids) {
      const std::string threads = absl::StrCat("proc/", pid, "/task");
      ASSERT_TRUE(WaitFor([&] {
        const auto all = root_.List(threads);
        return all.ok() && all->size() == kThreads + 1;
      }));
    }
    EXPECT_EQ(write(go[1], "12345678", pids.size()), static_cast<ssize_t>(pids.size()));
    const auto frozen = cgroups_->Freeze(group_, absl::Now() + absl::Seconds(20));
    ASSERT_TRUE(frozen.ok()) << frozen.status();
    EXPECT_TRUE(cgroups_->Thaw(group_).ok());
    for (const pid_t pid : pids) {
      EXPECT_EQ(kill(pid, SIGKILL), 0);
      waitpid(pid, nullptr, 0);  // or ChildReaper's thread does
    }
    close(go[0]);
    close(go[1]);
  }
}

TEST_F(CgroupHostTest, WhatIsGoneIsNeitherFrozenNorRead) {
  const std::string none = group_ + "-none";
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Freeze(none, absl::Now()).status()));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Threads(none).status()));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->ReadFile(none, "pids", "pids.max").status()));
  EXPECT_TRUE(absl::IsNotFound(cgroups_->WriteFile(none, "pids", "pids.max", "5")));
}

TEST_F(CgroupHostTest, OneFileIsReadAndWritten) {
  EXPECT_TRUE(cgroups_->HasFile(group_, "pids", "pids.max"));
  EXPECT_FALSE(cgroups_->HasFile(group_, "pids", "pids.min"));
  ASSERT_TRUE(cgroups_->WriteFile(group_, "pids", "pids.max", "5").ok());
  EXPECT_EQ(*cgroups_->ReadFile(group_, "pids", "pids.max"), "5");
  EXPECT_FALSE(cgroups_->WriteFile(group_, "pids", "pids.max", "x").ok());
}

}  // namespace
}  // namespace plimsoll::linux
