// The resources that the engine gives to the kernel, as far as its runtime's machine has them.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineFitTest : public EngineTest {
 protected:
  // A machine with pages of 2 MB and without the controllers "cpu" and "pids".
  static HostFeatures Small() {
    HostFeatures machine;
    machine.controllers = {"cpuset", "hugetlb", "memory"};
    machine.huge_page_sizes = {"2MB"};
    return machine;
  }
  std::string MakeOne() {
    const auto pod = engine_->RunSandbox(PodSpec(), "");
    EXPECT_TRUE(pod.ok()) << pod.status();
    pod_ = pod.value_or("");
    const auto id = engine_->CreateContainer(pod_, Spec(), "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings;
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning) warnings.push_back(event.message);
    }
    return warnings;
  }
  static linux::CgroupSettings Pages(uint64_t large, uint64_t small) {
    linux::CgroupSettings settings;
    settings.hugetlb_limits = {{"1GB", large}, {"2MB", small}};
    return settings;
  }
  static void ExpectMistake(const absl::Status& status, const std::string& who) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(who), HasSubstr("1GB huge pages"), HasSubstr("it has: 2MB")));
  }

  std::string pod_;
};

TEST_F(EngineFitTest, AnUpdateGivesTheKernelWhatItCanHold) {
  const std::string id = MakeOne();
  ResourceUpdate update{.cgroup = Pages(0, 4 << 20), .oom_score_adj = -997};
  update.cgroup.cpu_shares = 512;
  runtime_.known = Small();
  runtime_.known->lowers_oom_score_adj = false;
  runtime_.known->oom_score_adj = 5;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  linux::CgroupSettings held;
  held.hugetlb_limits = {{"2MB", 4 << 20}};
  const auto read = engine_->ReadResources(id);
  EXPECT_EQ(read->cgroup, held);
  EXPECT_EQ(read->oom_score_adj, 5);
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("the machine lacks the controller"),
                                      HasSubstr("oom_score_adj is 5 instead of -997")));
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.hugetlb_limits,
            Pages(0, 4 << 20).hugetlb_limits)
      << "on record is what was asked for";
}

TEST_F(EngineFitTest, ARuntimeThatKnowsNoMachineIsGivenAll) {
  const std::string id = MakeOne();
  ASSERT_EQ(runtime_.machine(), nullptr);
  linux::CgroupSettings asked = Pages(1 << 30, 0);
  asked.cpu_shares = 512;
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = asked}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup, asked);
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(EngineFitTest, APodsGroupIsGivenWhatTheMachineCanHold) {
  runtime_.known = Small();
  SandboxSpec spec = PodSpec();
  spec.resources = Pages(0, 2 << 20);
  spec.resources.cpu_shares = 512;
  const auto pod = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  linux::CgroupSettings held;
  held.hugetlb_limits = {{"2MB", 2 << 20}};
  EXPECT_EQ(engine_->ReadSandboxResources(*pod)->cgroup, held);
  ASSERT_TRUE(engine_->UpdateSandboxResources(*pod, {.resources = Pages(0, 4 << 20)}).ok());
  held.hugetlb_limits = {{"2MB", 4 << 20}};
  EXPECT_EQ(engine_->ReadSandboxResources(*pod)->cgroup, held);
}

TEST_F(EngineFitTest, HugePagesThatCannotBeAreTheClientsMistakeEverywhere) {
  runtime_.known = Small();
  SandboxSpec wrong = PodSpec();
  wrong.resources = Pages(1 << 30, 0);
  ExpectMistake(engine_->RunSandbox(wrong, "").status(), "pod default/pod");
  std::swap(wrong.resources, wrong.overhead);
  ExpectMistake(engine_->RunSandbox(wrong, "").status(), "pod default/pod");
  ExpectNothingLeft();

  const std::string id = MakeOne();
  const ContainerRecord before = *engine_->GetContainer(id);
  ContainerSpec spec = Spec("other");
  spec.resources = Pages(1 << 30, 0);
  ExpectMistake(engine_->CreateContainer(pod_, spec, "").status(), "container other");
  cgroups_.on_apply = [] { ADD_FAILURE() << "nothing is written"; };
  ExpectMistake(engine_->UpdateResources(id, {.cgroup = spec.resources}), id);
  ExpectMistake(engine_->UpdateSandboxResources(pod_, {.resources = spec.resources}), pod_);
  ExpectMistake(engine_->UpdateSandboxResources(pod_, {.overhead = spec.resources}), pod_);
  EXPECT_EQ(*engine_->GetContainer(id), before);
  EXPECT_EQ(engine_->ListContainers().size(), 1u);
  cgroups_.on_apply = nullptr;
}

TEST_F(EngineFitTest, HugePagesThatCannotBeAreAMistakeWithoutAControllerToo) {
  runtime_.known = Small();
  runtime_.known->controllers = {"cpuset", "memory"};
  const std::string id = MakeOne();
  ContainerSpec spec = Spec("other");
  spec.resources = Pages(1 << 30, 0);
  ExpectMistake(engine_->CreateContainer(pod_, spec, "").status(), "container other");
  ExpectMistake(engine_->UpdateResources(id, {.cgroup = spec.resources}), id);
  ExpectMistake(engine_->UpdateSandboxResources(pod_, {.resources = spec.resources}), pod_);
  const absl::Status none = engine_->UpdateResources(id, {.cgroup = Pages(0, 0)});
  EXPECT_TRUE(none.ok()) << none;
}

}  // namespace
}  // namespace plimsoll::runtime
