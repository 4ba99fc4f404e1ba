#include "agent/groups/pod_groups.h"

#include <atomic>
#include <cerrno>
#include <thread>

#include "agent/groups/groups_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using linux::CgroupSettings;
using resources::QosClass;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Step = PodGroups::Step;

constexpr char kBurstable[] = "/kubepods/burstable";
constexpr char kPod[] = "/kubepods/burstable/pod1";

Allocatable Node() {
  return {.cpu_milli = 4000, .memory_bytes = 1024 * kMi, .pids = 5000, .hugepages = {{"2MB", 0}}};
}

// On cgroup v1 and v2.
class PodGroupsTest : public ::testing::TestWithParam<bool> {
 protected:
  PodGroupsTest() : machine_(GetParam()) {}
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(Start()); }

  // Starts like a new process of the agent.
  void Start(GroupOptions options = {}) {
    options.allocatable = Node();
    options.note = [this](const std::string& note) { notes_.push_back(note); };
    auto groups = machine_.Open(std::move(options));
    ASSERT_TRUE(groups.ok()) << groups.status();
    groups_ = *std::move(groups);
  }
  void Ensure(const std::string& uid, const PodAmounts& amounts) {
    const absl::Status status = groups_->Ensure(uid, amounts);
    EXPECT_TRUE(status.ok()) << status;
  }
  void Update(const std::string& uid, const PodAmounts& amounts, Step step) {
    const absl::Status status = groups_->Update(uid, amounts, step);
    EXPECT_TRUE(status.ok()) << status;
  }
  bool Exists(const std::string& group) { return *machine_.tree().Exists(group); }
  // The shares that the kernel keeps.
  std::optional<uint64_t> Shares(uint64_t shares) {
    return GetParam() ? linux::CpuWeightToShares(linux::CpuSharesToWeight(shares)) : shares;
  }
  std::optional<uint64_t> SharesOf(const std::string& group) {
    return machine_.Read(group).cpu_shares;
  }
  // The file of a memory limit, a quota or shares.
  std::string MemoryFile(const std::string& group) {
    return group + (GetParam() ? "/memory.max" : "/memory.limit_in_bytes");
  }
  std::string SharesFile(const std::string& group) {
    return group + (GetParam() ? "/cpu.weight" : "/cpu.shares");
  }
  void ExpectRefused(const absl::Status& status, const std::string& file) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(file));
  }

  FakeMachine machine_;
  std::vector<std::string> notes_;
  std::unique_ptr<PodGroups> groups_;
};
INSTANTIATE_TEST_SUITE_P(Layouts, PodGroupsTest, ::testing::Bool(),
                         [](const auto& layout) { return layout.param ? "V2" : "V1"; });

TEST_P(PodGroupsTest, TheFirstPodBringsKubepods) {
  EXPECT_FALSE(Exists("/kubepods"));
  Ensure("1", Amounts(QosClass::kGuaranteed, 500, 64 * kMi));
  const CgroupSettings all = machine_.Read("/kubepods");
  EXPECT_EQ(all.cpu_shares, Shares(4096));
  EXPECT_EQ(all.memory_limit_bytes, 1024 * kMi);
  EXPECT_EQ(all.pids_limit, 5000);
  EXPECT_EQ(all.hugetlb_limits, (std::map<std::string, uint64_t>{{"2MB", 0}}));
  EXPECT_EQ(SharesOf("/kubepods/besteffort"), 2u);
  EXPECT_EQ(SharesOf(kBurstable), 2u);
  const CgroupSettings pod = machine_.Read("/kubepods/pod1");
  EXPECT_EQ(pod.cpu_shares, Shares(512));
  EXPECT_EQ(pod.cpu_quota_us, 50000);
  EXPECT_EQ(pod.memory_limit_bytes, 64 * kMi);
  EXPECT_EQ(groups_->CgroupParent("1", QosClass::kGuaranteed), "/kubepods/pod1");
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_P(PodGroupsTest, APodsProcessesAndHugePagesAreBounded) {
  Start({.pod_pids_limit = 100});
  PodAmounts amounts = Amounts(QosClass::kBurstable, 100, -1);
  Ensure("1", amounts);
  EXPECT_EQ(machine_.Read(kPod).pids_limit, 100);
  EXPECT_EQ(machine_.Read(kPod).hugetlb_limits, (std::map<std::string, uint64_t>{{"2MB", 0}}));
  amounts.settings.hugetlb_limits = {{"2MB", 4 * kMi}, {"1GB", 0}};
  Ensure("2", amounts);
  EXPECT_EQ(machine_.Read("/kubepods/burstable/pod2").hugetlb_limits,
            (std::map<std::string, uint64_t>{{"2MB", 4 * kMi}}));
}

TEST_P(PodGroupsTest, TheClassBurstableHasTheSumOfItsPods) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  Ensure("2", Amounts(QosClass::kBurstable, 2000, 64 * kMi));
  Ensure("3", Amounts(QosClass::kGuaranteed, 4000, 64 * kMi));
  Ensure("4", Amounts(QosClass::kBestEffort, 0, -1));
  EXPECT_EQ(SharesOf(kBurstable), Shares(3072));
  EXPECT_EQ(SharesOf("/kubepods/besteffort"), 2u);
  ASSERT_TRUE(groups_->Remove("1").ok());
  EXPECT_FALSE(Exists(kPod));
  EXPECT_EQ(SharesOf(kBurstable), Shares(2048));
  EXPECT_TRUE(groups_->Remove("1").ok());
}

TEST_P(PodGroupsTest, ThoseOfALaterProcessAreTheSame) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  Ensure("2", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  const auto before = machine_.Everything();
  Start();
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_EQ(machine_.Everything(), before);
  EXPECT_THAT(notes_, IsEmpty());
  ASSERT_TRUE(groups_->Sweep({"2"}).ok());
  EXPECT_FALSE(Exists(kPod));
  EXPECT_TRUE(Exists("/kubepods/burstable/pod2"));
  EXPECT_EQ(SharesOf(kBurstable), Shares(1024));
}

TEST_P(PodGroupsTest, AHalfMadeGroupIsCompleted) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  machine_.tree().Put("", MemoryFile(kPod), GetParam() ? "max" : "-1");
  machine_.tree().Put("", SharesFile(kPod), GetParam() ? "100" : "1024");
  Start();
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_EQ(machine_.Read(kPod).memory_limit_bytes, 64 * kMi);
  EXPECT_EQ(SharesOf(kPod), Shares(1024));
}

// Between two steps of a resize a container may still have more than the pod's new amounts.
TEST_P(PodGroupsTest, ALivingPodLosesNothingByEnsure) {
  Ensure("1", Amounts(QosClass::kBurstable, 2000, 64 * kMi));
  machine_.tree().Put(std::string(kPod) + "/container", "cgroup.procs", "17");
  Start();
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 128 * kMi));
  EXPECT_EQ(machine_.Read(kPod).memory_limit_bytes, 128 * kMi);
  EXPECT_EQ(machine_.Read(kPod).cpu_quota_us, 200000);
  EXPECT_EQ(SharesOf(kBurstable), Shares(2048));
  Update("1", Amounts(QosClass::kBurstable, 1000, 128 * kMi), Step::kSettle);
  EXPECT_EQ(machine_.Read(kPod).cpu_quota_us, 100000);
  EXPECT_EQ(SharesOf(kBurstable), Shares(1024));
}

TEST_P(PodGroupsTest, AResizeRaisesFirstAndLowersAtTheEnd) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  const PodAmounts next = Amounts(QosClass::kBurstable, 2000, 32 * kMi);
  EXPECT_EQ(groups_->Planned("1", next, Step::kRaise)->memory_limit_bytes, std::nullopt);
  EXPECT_EQ(groups_->Planned("1", next, Step::kRaise)->cpu_quota_us, 200000);
  Update("1", next, Step::kRaise);
  EXPECT_EQ(*groups_->Planned("1", next, Step::kRaise), CgroupSettings());
  EXPECT_EQ(machine_.Read(kPod).cpu_quota_us, 200000);
  EXPECT_EQ(machine_.Read(kPod).cpu_shares, Shares(2048));
  EXPECT_EQ(machine_.Read(kPod).memory_limit_bytes, 64 * kMi);
  EXPECT_EQ(SharesOf(kBurstable), Shares(2048));
  EXPECT_EQ(groups_->Planned("1", next, Step::kSettle)->memory_limit_bytes, 32 * kMi);
  Update("1", next, Step::kSettle);
  EXPECT_EQ(machine_.Read(kPod).memory_limit_bytes, 32 * kMi);
  EXPECT_EQ(*groups_->Planned("1", next, Step::kSettle), CgroupSettings());
}

// Else the pod's group would for a moment have more than its class.
TEST_P(PodGroupsTest, TheClassIsRaisedBeforeThePodAndLoweredAfter) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, -1));
  const auto order = [&] {
    std::vector<std::string> groups;
    for (const std::string& write : machine_.tree().writes) {
      if (write.starts_with(SharesFile(kPod))) groups.emplace_back("pod");
      if (write.starts_with(SharesFile(kBurstable))) groups.emplace_back("class");
    }
    machine_.tree().writes.clear();
    return groups;
  };
  order();
  Update("1", Amounts(QosClass::kBurstable, 2000, -1), Step::kRaise);
  EXPECT_THAT(order(), ElementsAre("class", "pod"));
  Update("1", Amounts(QosClass::kBurstable, 500, -1), Step::kRaise);
  EXPECT_THAT(order(), IsEmpty());
  Update("1", Amounts(QosClass::kBurstable, 500, -1), Step::kSettle);
  EXPECT_THAT(order(), ElementsAre("pod", "class"));
}

TEST_P(PodGroupsTest, AResizeThatCanNotBe) {
  const PodAmounts amounts = Amounts(QosClass::kBurstable, 1000, 64 * kMi);
  EXPECT_TRUE(absl::IsNotFound(groups_->Update("1", amounts, Step::kRaise)));
  EXPECT_TRUE(absl::IsNotFound(groups_->Planned("1", amounts, Step::kRaise).status()));
  Ensure("1", amounts);
  EXPECT_TRUE(absl::IsInvalidArgument(
      groups_->Update("1", Amounts(QosClass::kGuaranteed, 1000, 64 * kMi), Step::kSettle)));
  const std::string usage = GetParam() ? "memory.current" : "memory.usage_in_bytes";
  machine_.tree().Put(kPod, usage, std::to_string(50 * kMi));
  const auto before = machine_.Everything();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      groups_->Update("1", Amounts(QosClass::kBurstable, 500, 32 * kMi), Step::kSettle)));
  EXPECT_EQ(machine_.Everything(), before);
}

TEST_P(PodGroupsTest, KubepodsThatIsThereIsTakenOverAndKept) {
  for (const char* group : {"/kubepods", kBurstable})
    ASSERT_TRUE(machine_.Cgroups()->Create(group).ok());
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("cgroup /kubepods was there"), HasSubstr(kBurstable)));
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, 1024 * kMi);
  ASSERT_TRUE(groups_->Remove("1").ok());
  ASSERT_TRUE(groups_->RemoveUnusedParents().ok());
  EXPECT_TRUE(Exists(kBurstable));
  EXPECT_FALSE(Exists("/kubepods/besteffort"));
}

TEST_P(PodGroupsTest, OwnParentsGoWithTheirLastPod) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  ASSERT_TRUE(groups_->RemoveUnusedParents().ok());
  EXPECT_TRUE(Exists(kPod));
  Start();
  ASSERT_TRUE(groups_->Remove("1").ok());
  ASSERT_TRUE(groups_->RemoveUnusedParents().ok());
  EXPECT_FALSE(Exists("/kubepods"));
  Ensure("2", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, 1024 * kMi);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_P(PodGroupsTest, OthersGroupsAreNotTouched) {
  ASSERT_TRUE(machine_.Cgroups()->Create("/kubepods/pod9").ok());
  ASSERT_TRUE(machine_.Cgroups()->Create("/kubepods/pod8").ok());
  machine_.tree().Put("/kubepods/pod9", "cgroup.procs", "17");
  const auto before = machine_.Everything();
  const PodAmounts amounts = Amounts(QosClass::kGuaranteed, 1000, 64 * kMi);
  EXPECT_TRUE(absl::IsFailedPrecondition(groups_->Ensure("9", amounts)));
  EXPECT_TRUE(groups_->Remove("9").ok());
  EXPECT_TRUE(groups_->Sweep({}).ok());
  EXPECT_EQ(machine_.Everything(), before);
  // Nobody is in this one.
  Ensure("8", amounts);
  EXPECT_EQ(machine_.Read("/kubepods/pod8").memory_limit_bytes, 64 * kMi);
  EXPECT_THAT(notes_, ::testing::Contains(HasSubstr("/kubepods/pod8 was there")));
}

TEST_P(PodGroupsTest, AGroupWithProcessesStays) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  Ensure("2", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  machine_.tree().Put(std::string(kPod) + "/container", "cgroup.procs", "17");
  const absl::Status status = groups_->Sweep({});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("processes 17"));
  EXPECT_FALSE(Exists("/kubepods/burstable/pod2"));
  EXPECT_EQ(SharesOf(kBurstable), Shares(1024));
  machine_.tree().Put(std::string(kPod) + "/container", "cgroup.procs", "");
  EXPECT_TRUE(groups_->Sweep({}).ok());
  EXPECT_FALSE(Exists(kPod));
}

TEST_P(PodGroupsTest, GroupsOfAnotherBootAreForgotten) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  ASSERT_TRUE(machine_.Cgroups()->Remove("/kubepods").ok());
  machine_.SetBoot("boot 2");
  Start();
  Ensure("2", Amounts(QosClass::kBurstable, 500, 64 * kMi));
  EXPECT_EQ(SharesOf(kBurstable), Shares(512));
}

TEST_P(PodGroupsTest, GroupsThatSomebodyRemovedComeBack) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  const auto before = machine_.Everything();
  ASSERT_TRUE(machine_.Cgroups()->Remove("/kubepods").ok());
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_EQ(machine_.Everything(), before);
}

TEST_P(PodGroupsTest, AllocatableFollowsTheNode) {
  Allocatable node = Node();
  node.memory_bytes = 512 * kMi;
  ASSERT_TRUE(groups_->SetAllocatable(node).ok());
  EXPECT_FALSE(Exists("/kubepods"));
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, 512 * kMi);
  node.memory_bytes = 0;
  ASSERT_TRUE(groups_->SetAllocatable(node).ok());
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, -1);
}

// Kubelet's limit may shrink at a restart: pods go on, and the agent tries again.
TEST_P(PodGroupsTest, PodsThatUseMoreThanAllocatableRunOn) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  Allocatable less = Node();
  less.memory_bytes = 100 * kMi;
  const std::string usage = GetParam() ? "memory.current" : "memory.usage_in_bytes";
  machine_.tree().Put("/kubepods", usage, std::to_string(200 * kMi));
  EXPECT_TRUE(absl::IsFailedPrecondition(groups_->SetAllocatable(less)));
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, 1024 * kMi);
  Start();
  EXPECT_TRUE(groups_->SetAllocatable(less).ok());
  Ensure("2", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("not enforced yet")));
  machine_.tree().Put("/kubepods", usage, "0");
  EXPECT_TRUE(groups_->SetAllocatable(less).ok());
  EXPECT_EQ(machine_.Read("/kubepods").memory_limit_bytes, 100 * kMi);
}

TEST_P(PodGroupsTest, ARefusedFileLeavesNothing) {
  for (const std::string& file :
       {MemoryFile("/kubepods"), SharesFile("/kubepods/besteffort"), SharesFile(kBurstable),
        MemoryFile(kPod), std::string(kPod), std::string(kBurstable)}) {
    machine_.tree().refuse = {{file, EIO}};
    ExpectRefused(groups_->Ensure("1", Amounts(QosClass::kBurstable, 2000, 64 * kMi)), file);
    EXPECT_FALSE(Exists(kPod)) << file;
    machine_.tree().refuse.clear();
    ASSERT_TRUE(groups_->RemoveUnusedParents().ok());
    EXPECT_FALSE(Exists("/kubepods")) << file;
  }
  Ensure("1", Amounts(QosClass::kBurstable, 2000, 64 * kMi));
  EXPECT_EQ(machine_.Read(kPod).memory_limit_bytes, 64 * kMi);
}

TEST_P(PodGroupsTest, ARefusedResizeChangesNothing) {
  Ensure("1", Amounts(QosClass::kBurstable, 1000, 64 * kMi));
  const auto before = machine_.Everything();
  const PodAmounts more = Amounts(QosClass::kBurstable, 2000, 128 * kMi);
  const PodAmounts less = Amounts(QosClass::kBurstable, 500, 32 * kMi);
  for (const std::string& file : {MemoryFile(kPod), SharesFile(kPod), SharesFile(kBurstable)}) {
    machine_.tree().refuse = {{file, EINVAL}};
    ExpectRefused(groups_->Update("1", more, Step::kRaise), file);
    EXPECT_EQ(machine_.Everything(), before) << file;
    ExpectRefused(groups_->Update("1", less, Step::kSettle), file);
    EXPECT_EQ(machine_.Everything(), before) << file;
  }
  // The class's shares are refused after the group is gone.
  ExpectRefused(groups_->Remove("1"), SharesFile(kBurstable));
  machine_.tree().refuse.clear();
  EXPECT_TRUE(groups_->Remove("1").ok());
  EXPECT_EQ(SharesOf(kBurstable), 2u);
}

TEST_P(PodGroupsTest, ManyPodsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 6; ++n) {
        const std::string uid = absl::StrCat(i, "-", n);
        const PodAmounts amounts = Amounts(QosClass::kBurstable, 100, 64 * kMi);
        failures += !groups_->Ensure(uid, amounts).ok();
        failures += !groups_->Update(uid, amounts, Step::kSettle).ok();
        if (n % 2 == 0) failures += !groups_->Remove(uid).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(SharesOf(kBurstable), Shares(1228));
  EXPECT_TRUE(groups_->Sweep({}).ok());
  EXPECT_EQ(SharesOf(kBurstable), 2u);
}

TEST_P(PodGroupsTest, AnotherDriverFindsItsPredecessorsGroups) {
  Ensure("1", Amounts(QosClass::kGuaranteed, 1000, 64 * kMi));
  Start({.driver = CgroupDriver::kSystemd});
  const absl::Status status = groups_->Ensure("1", Amounts(QosClass::kGuaranteed, 1000, 64 * kMi));
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/kubepods/pod1"));
  EXPECT_TRUE(groups_->Sweep({}).ok());
  EXPECT_FALSE(Exists("/kubepods/pod1"));
}

TEST_P(PodGroupsTest, OpenSaysWhatIsMissing) {
  const absl::Status no_root = machine_.Open({.root = "/mine"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(no_root));
  EXPECT_THAT(std::string(no_root.message()), HasSubstr("/mine doesn't exist"));
  ASSERT_TRUE(machine_.Cgroups()->Create("/mine").ok());
  EXPECT_TRUE(machine_.Open({.root = "/mine"}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(machine_.Open({.root = "../x"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(groups_->Ensure("../x", {})));
  EXPECT_THAT(groups_->Lacks(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
