// Tests this machine's kernel, whatever its layout, below a group of the test's own.
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/groups/groups_for_test.h"
#include "base/fault_injection.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/huge_page_sizes.h"
#include "systemd/units.h"

namespace plimsoll::agent {
namespace {

using linux::CgroupManager;
using linux::CgroupSettings;
using resources::QosClass;
using ::testing::HasSubstr;
using Step = PodGroups::Step;

int g_actions_left = 0;
bool g_was_refused = false;

absl::Status RefuseOne(absl::string_view verb, absl::string_view object) {
  if (--g_actions_left != 0) return absl::OkStatus();
  g_was_refused = true;
  return absl::InternalError(absl::StrCat("injected: ", verb, " ", object));
}

class PodGroupsHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make cgroups";
    auto cgroups = CgroupManager::Detect(host_);
    if (!cgroups.ok()) GTEST_SKIP() << cgroups.status();
    for (const char* controller : {"cpu", "memory"}) {
      if (!absl::c_linear_search((*cgroups)->Controllers(), controller)) {
        GTEST_SKIP() << "no cgroup controller " << controller;
      }
    }
    cgroups_ = *std::move(cgroups);
    ASSERT_TRUE(cgroups_->Create(root_).ok());
    ASSERT_NO_FATAL_FAILURE(Start());
  }
  void TearDown() override {
    SetFaultHook(nullptr);
    if (cgroups_ == nullptr) return;
    EXPECT_TRUE(cgroups_->KillAll(root_, absl::Now() + absl::Seconds(20)).ok());
    for (Child& child : children_) child.Wait(absl::Now() + absl::Seconds(20)).IgnoreError();
    const absl::Status removed = cgroups_->Remove(root_);
    EXPECT_TRUE(removed.ok()) << removed;
  }

  void Start() {
    auto groups = PodGroups::Open(
        host_, state_.root(),
        {.root = root_,
         .allocatable = {.cpu_milli = 2000, .memory_bytes = 1024 * kMi, .pids = 0, .hugepages = {}},
         .pod_pids_limit = 50});
    ASSERT_TRUE(groups.ok()) << groups.status();
    groups_ = *std::move(groups);
  }
  std::string Pod(const std::string& uid) { return Kubepods("/burstable/pod" + uid); }
  std::string Kubepods(const std::string& below = "") {
    return absl::StrCat(root_, "/kubepods", below);
  }
  CgroupSettings Read(const std::string& group) {
    const auto settings = cgroups_->Read(group);
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.value_or(CgroupSettings());
  }
  // The shares that the kernel keeps.
  uint64_t Kept(uint64_t shares) {
    return Fit({.cpu_shares = shares}, {.layout = cgroups_->layout()}).cpu_shares.value_or(0);
  }
  bool Has(const char* controller) {
    return absl::c_linear_search(cgroups_->Controllers(), controller);
  }
  pid_t StartSleep(const std::string& group) {
    children_.push_back(*Spawn({.argv = {"/bin/sleep", "1000"}}));
    const absl::Status added = cgroups_->AddProcess(group, children_.back().pid());
    EXPECT_TRUE(added.ok()) << added;
    return children_.back().pid();
  }
  // The groups that exist of pod 1 and above, with their settings, and the agent's file.
  std::vector<std::pair<std::string, CgroupSettings>> Everything() {
    std::vector<std::pair<std::string, CgroupSettings>> all;
    for (const std::string& group :
         {Kubepods(), Kubepods("/burstable"), Kubepods("/besteffort"), Pod("1")}) {
      if (cgroups_->Exists(group).value_or(false)) all.emplace_back(group, Read(group));
    }
    all.emplace_back(state_.root().Read("groups.json").value_or(""), CgroupSettings());
    return all;
  }

  static PodAmounts SmallPod() { return Amounts(QosClass::kBurstable, 500, 64 * kMi); }

  // Refuses each action of `call` in turn, until it has none left to refuse. Returns their number.
  int RefuseEach(const std::function<absl::Status()>& call,
                 const std::function<void(const absl::Status&)>& check) {
    for (int nth = 1;; ++nth) {
      g_actions_left = nth;
      g_was_refused = false;
      SetFaultHook(RefuseOne);
      const absl::Status status = call();
      SetFaultHook(nullptr);
      EXPECT_EQ(status.ok(), !g_was_refused) << status;
      if (!g_was_refused || HasFailure()) return nth - 1;
      check(status);
    }
  }
  void ExpectUnchanged(const std::function<absl::Status()>& call) {
    const auto before = Everything();
    const int refused = RefuseEach(
        call, [&](const absl::Status& status) { EXPECT_EQ(Everything(), before) << status; });
    EXPECT_GT(refused, 3);
    EXPECT_NE(Everything(), before);
  }

  const FsRoot host_ = *FsRoot::Open("/");
  const std::string root_ = absl::StrCat("/plimsoll-test-agent-", getpid());
  TestDir state_;
  std::unique_ptr<CgroupManager> cgroups_;
  std::unique_ptr<PodGroups> groups_;
  std::vector<Child> children_;
};

TEST_F(PodGroupsHostTest, TheKernelHoldsAPodsLimits) {
  absl::Status made = groups_->Ensure("1", Amounts(QosClass::kBurstable, 500, 64 * kMi));
  ASSERT_TRUE(made.ok()) << made;
  made = groups_->Ensure("2", Amounts(QosClass::kBurstable, 250, -1));
  ASSERT_TRUE(made.ok()) << made;
  const CgroupSettings pod = Read(Pod("1"));
  EXPECT_EQ(pod.cpu_shares, Kept(512));
  EXPECT_EQ(pod.cpu_quota_us, 50000);
  EXPECT_EQ(pod.cpu_period_us, 100000u);
  EXPECT_EQ(pod.memory_limit_bytes, 64 * kMi);
  if (Has("pids")) {
    EXPECT_EQ(pod.pids_limit, 50);
  }
  if (Has("hugetlb")) {
    const auto sizes = linux::ReadHugePageSizes(host_).value_or(std::set<std::string>());
    for (const std::string& size : sizes) {
      EXPECT_EQ(pod.hugetlb_limits.at(size), 0u) << size;
    }
  }
  EXPECT_EQ(Read(Kubepods("/burstable")).cpu_shares, Kept(768));
  EXPECT_EQ(Read(Kubepods("/besteffort")).cpu_shares, 2u);
  EXPECT_EQ(Read(Kubepods()).cpu_shares, Kept(2048));
  EXPECT_EQ(Read(Kubepods()).memory_limit_bytes, 1024 * kMi);
  ASSERT_TRUE(groups_->Sweep({}).ok());
  ASSERT_TRUE(groups_->RemoveUnusedParents().ok());
  EXPECT_FALSE(*cgroups_->Exists(Kubepods()));
}

// The steps of a runtime with cgroup_parent: v1 refuses a container's quota above its pod's.
TEST_F(PodGroupsHostTest, ContainersAreResizedBetweenTheSteps) {
  ASSERT_TRUE(groups_->Ensure("1", Amounts(QosClass::kBurstable, 500, 64 * kMi)).ok());
  const std::string container = absl::StrCat(Pod("1"), "/container");
  ASSERT_TRUE(cgroups_->Create(container).ok());
  StartSleep(container);
  for (const int64_t milli : {500, 1000, 250}) {
    const PodAmounts amounts = Amounts(QosClass::kBurstable, milli, milli * (kMi / 8));
    for (const Step step : {Step::kRaise, Step::kSettle}) {
      absl::Status status = groups_->Update("1", amounts, step);
      EXPECT_TRUE(status.ok()) << status;
      if (step == Step::kSettle) continue;
      status = cgroups_->Apply(container, amounts.settings);
      EXPECT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(Read(Pod("1")).cpu_quota_us, milli * 100);
    EXPECT_EQ(Read(Kubepods("/burstable")).cpu_shares, Kept(resources::MilliCpuToShares(milli)));
  }
}

TEST_F(PodGroupsHostTest, AProcessKeepsAGroupAndALaterAgentRemovesIt) {
  ASSERT_TRUE(groups_->Ensure("1", Amounts(QosClass::kBurstable, 500, 64 * kMi)).ok());
  const std::string container = absl::StrCat(Pod("1"), "/container");
  ASSERT_TRUE(cgroups_->Create(container).ok());
  const pid_t pid = StartSleep(container);
  Start();
  ASSERT_TRUE(groups_->Ensure("1", Amounts(QosClass::kBurstable, 250, 32 * kMi)).ok());
  EXPECT_EQ(Read(Pod("1")).memory_limit_bytes, 64 * kMi);
  const absl::Status refused = groups_->Remove("1");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat(pid)));
  EXPECT_EQ(kill(pid, 0), 0);
  ASSERT_TRUE(cgroups_->KillAll(container, absl::Now() + absl::Seconds(20)).ok());
  const absl::Status removed = groups_->Sweep({});
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_FALSE(*cgroups_->Exists(Pod("1")));
}

TEST_F(PodGroupsHostTest, AFaultInTheFirstPodLeavesNoPod) {
  const int refused = RefuseEach([&] { return groups_->Ensure("1", SmallPod()); },
                                 [&](const absl::Status& status) {
                                   EXPECT_FALSE(*cgroups_->Exists(Pod("1"))) << status;
                                   EXPECT_TRUE(groups_->RemoveUnusedParents().ok());
                                   EXPECT_FALSE(*cgroups_->Exists(Kubepods())) << status;
                                 });
  EXPECT_GT(refused, 10);
  EXPECT_EQ(Read(Pod("1")).memory_limit_bytes, 64 * kMi);
}

TEST_F(PodGroupsHostTest, AFaultChangesNothing) {
  ASSERT_TRUE(groups_->Ensure("0", SmallPod()).ok());
  const PodAmounts more = Amounts(QosClass::kBurstable, 1000, 128 * kMi);
  ExpectUnchanged([&] { return groups_->Ensure("1", SmallPod()); });
  ExpectUnchanged([&] { return groups_->Update("1", more, Step::kRaise); });
  ExpectUnchanged([&] { return groups_->Update("1", SmallPod(), Step::kSettle); });
}

TEST_F(PodGroupsHostTest, ARemovalThatFailsCanBeRepeated) {
  ASSERT_TRUE(groups_->Ensure("0", SmallPod()).ok());
  const int refused = RefuseEach(
      [&] {
        const absl::Status made = groups_->Ensure("1", SmallPod());
        return made.ok() ? groups_->Remove("1") : made;
      },
      [&](const absl::Status& status) {
        EXPECT_TRUE(groups_->Remove("1").ok());
        EXPECT_FALSE(*cgroups_->Exists(Pod("1"))) << status;
        EXPECT_EQ(Read(Kubepods("/burstable")).cpu_shares, Kept(512));
      });
  EXPECT_GT(refused, 10);
}

TEST_F(PodGroupsHostTest, TheDriverSystemdSaysWhatItNeeds) {
  if (systemd::SystemdIsThere(host_)) GTEST_SKIP() << "needs a machine without systemd";
  const absl::Status status =
      PodGroups::Open(host_, state_.root(), {.driver = CgroupDriver::kSystemd}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cgroup driver systemd"));
}

}  // namespace
}  // namespace plimsoll::agent
