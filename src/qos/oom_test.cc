#include "qos/oom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linux/capabilities.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "qos/host_group_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kGone = 9999;

class OomTest : public HostGroupTest {
 protected:
  void SetUp() override {
    HostGroupTest::SetUp();
    if (IsSkipped()) return;
    freezer_.emplace(cgroups_.get(), nullptr);
    own_ = Score(getpid());
    if (own_ > 500) GTEST_SKIP() << "this process' own oom_score_adj is " << own_;
  }

  std::unique_ptr<OomType> Make(std::optional<int> lowest = std::nullopt) {
    auto type = OomType::Create(root_, cgroups_.get(), &*freezer_, Config(), lowest);
    EXPECT_TRUE(type.ok()) << type.status();
    return *std::move(type);
  }
  static OomTypeConfig Config() {
    return {.classes = {{"high", 900}, {"middle", 600}, {"saved", -1000}}};
  }
  Target WithUnderlying(std::optional<std::string> value) const {
    Target target = Container();
    target.underlying = [value](absl::string_view file) {
      return file == "oom_score_adj" ? value : std::nullopt;
    };
    return target;
  }
  int Score(pid_t pid) {
    const auto process = linux::IdentifyProcess(root_, pid);
    return process.ok() ? linux::ReadOomScoreAdj(root_, *process).value_or(kGone) : kGone;
  }
  // The scores of every process in the group.
  std::vector<int> Scores() {
    std::vector<int> scores;
    const auto pids = cgroups_->Processes(group_, /*recursive=*/true);
    for (const pid_t pid : *pids) {
      if (const int score = Score(pid); score != kGone) scores.push_back(score);
    }
    return scores;
  }
  void AwaitProcesses(size_t count) {
    EXPECT_TRUE(
        WaitFor([&] { return cgroups_->Processes(group_, /*recursive=*/true)->size() == count; }));
  }

  std::optional<ContainerFreezer> freezer_;
  int own_ = 0;
};

TEST_F(OomTest, EveryProcessHasItAndForksInherit) {
  Start("sleep 1000 & sleep 1000 & wait");
  AwaitProcesses(3);
  const auto type = Make();
  const absl::Status assigned = type->Assign(Container(), "", "high");
  ASSERT_TRUE(assigned.ok()) << assigned;
  EXPECT_THAT(Scores(), AllOf(SizeIs(3), Each(900)));
  EXPECT_EQ(*type->Drift(Container(), "high"), "");
  ASSERT_TRUE(type->Assign(Container(), "high", "middle").ok());
  EXPECT_THAT(Scores(), Each(600));
  EXPECT_THAT(*type->Drift(Container(), "high"), HasSubstr("is 600 instead of 900"));
}

TEST_F(OomTest, WhoIsAdoptedGetsWhatTheClassMeansNow) {
  Start("sleep 1000 & sleep 1000 & wait");
  AwaitProcesses(3);
  ASSERT_TRUE(Make()->Assign(Container(), "", "middle").ok());
  // A program's own score stays, as long as the class is the same.
  const auto pids = *cgroups_->Processes(group_, /*recursive=*/true);
  Target target = Container();
  target.init = *linux::IdentifyProcess(root_, pids[0]);
  const pid_t child = pids[1];
  ASSERT_TRUE(root_.Write(absl::StrCat("proc/", child, "/oom_score_adj"), "700").ok());
  ASSERT_TRUE(Make()->Adopt(target, "middle", {}).ok());
  EXPECT_EQ(Score(child), 700);
  OomTypeConfig config = Config();
  config.classes["middle"] = 650;
  const auto now = OomType::Create(root_, cgroups_.get(), &*freezer_, config, std::nullopt);
  ASSERT_TRUE(now.ok()) << now.status();
  ASSERT_TRUE((*now)->Adopt(target, "middle", {}).ok());
  EXPECT_THAT(Scores(), AllOf(SizeIs(3), Each(650)));
}

TEST_F(OomTest, AContainerThatForksAllTheTimeIsWhollyInItsClass) {
  Start("while :; do (:; :) & wait; done");
  const auto type = Make();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(type->Assign(Container(), "", i % 2 == 0 ? "high" : "middle").ok());
    for (int look = 0; look < 5; ++look) EXPECT_THAT(Scores(), Each(i % 2 == 0 ? 900 : 600));
  }
}

TEST_F(OomTest, WhatTheClientAskedForComesBack) {
  Start("sleep 1000");
  const auto type = Make();
  const Target target = WithUnderlying("700");
  ASSERT_TRUE(type->Assign(target, "", "high").ok());
  ASSERT_TRUE(type->Release(target, "high").ok());
  EXPECT_THAT(Scores(), Each(700));
  EXPECT_THAT(type->OwnedFiles("high"), ElementsAre("oom_score_adj"));
  EXPECT_THAT(type->OwnedFiles("none"), IsEmpty());
}

TEST_F(OomTest, AProgramOnItsWayInIsTakenAlong) {
  Start("sleep 1000");
  Command outside;
  outside.argv = {"/bin/sh", "-c", "sleep 1000 & wait"};
  outside.new_session = true;
  Child child = *Spawn(outside);
  const auto below = [&] {
    const auto table = linux::ListProcessTable(root_);
    return linux::DescendantsOf(*table, child.pid());
  };
  EXPECT_TRUE(WaitFor([&] { return below().size() == 1; }));
  Target target = Container();
  target.entering = [&child] { return std::vector<pid_t>{child.pid()}; };
  const auto type = Make();
  EXPECT_TRUE(type->Assign(target, "", "high").ok());
  EXPECT_EQ(Score(child.pid()), 900);
  EXPECT_EQ(Score(below()[0].id.pid), 900);
  EXPECT_THAT(Scores(), Each(900));
  child.Signal(SIGKILL, /*group=*/true).IgnoreError();
  EXPECT_TRUE(child.Wait(absl::Now() + absl::Seconds(20)).ok());
}

TEST_F(OomTest, WhatCannotBeLoweredIsClampedAndSaidSo) {
  Start("sleep 1000");
  const auto type = Make(/*lowest=*/own_);
  EXPECT_THAT(type->warnings(),
              ElementsAre(absl::StrCat(
                  "oom class saved: oom_score_adj is ", own_,
                  " instead of -1000, because it can't be lowered here (no CAP_SYS_RESOURCE, or "
                  "restrict_oom_score_adj is set)")));
  EXPECT_EQ(type->classes()[2].meaning, absl::StrCat("oom_score_adj ", own_, " instead of -1000"));
  ASSERT_TRUE(type->Assign(Container(), "", "high").ok());
  ASSERT_TRUE(type->Assign(Container(), "high", "saved").ok());
  EXPECT_THAT(Scores(), Each(own_));
  EXPECT_EQ(*type->Drift(Container(), "saved"), "");
  const Target target = WithUnderlying("-998");
  EXPECT_TRUE(type->Release(target, "saved").ok());
  EXPECT_THAT(Scores(), Each(own_));
}

TEST_F(OomTest, ARefusalLeavesAllAsItWas) {
  if (*linux::HasCapability(root_, 24)) {
    GTEST_SKIP() << "root has CAP_SYS_RESOURCE here, so nothing is refused";
  }
  Start("sleep 1000 & wait");
  AwaitProcesses(2);
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "high").ok());
  const absl::Status status = type->Assign(Container(), "high", "saved");
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("oom class \"saved\" for container web"), HasSubstr("oom_score_adj"),
                    HasSubstr("needs CAP_SYS_RESOURCE")));
  EXPECT_THAT(Scores(), AllOf(SizeIs(2), Each(900)));
}

TEST_F(OomTest, LowersWhereTheCapabilityIsThere) {
  if (!*linux::HasCapability(root_, 24)) GTEST_SKIP() << "root lacks CAP_SYS_RESOURCE here";
  Start("sleep 1000");
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "saved").ok());
  EXPECT_THAT(Scores(), Each(-1000));
}

TEST_F(OomTest, UnknownClassesAndGroupsThatAreGone) {
  const auto type = Make();
  const absl::Status unknown = type->Assign(Container(), "", "gold");
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(std::string(unknown.message()),
              HasSubstr("there is no oom class \"gold\"; there are: high, middle, saved"));
  Target gone = Container();
  gone.cgroup_path = group_ + "-none";
  EXPECT_TRUE(absl::IsNotFound(type->Assign(gone, "", "high")));
  EXPECT_TRUE(type->Release(gone, "high").ok());
  EXPECT_TRUE(type->Release(Container(), "").ok());
}

TEST_F(OomTest, MistakesAreTold) {
  const auto mistake = [&](const OomTypeConfig& config) {
    const absl::Status status =
        OomType::Create(root_, cgroups_.get(), &*freezer_, config, std::nullopt).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(mistake({}), "class type \"oom\": it has no classes");
  EXPECT_EQ(mistake({.classes = {{"a", 1001}}}),
            "class type \"oom\": class \"a\": oom_score_adj 1001 is not in -1000 to 1000");
  EXPECT_THAT(mistake({.classes = {{"a b", 1}}}), HasSubstr("name \"a b\""));
  OomTypeConfig config = Config();
  config.common.default_class = "gold";
  EXPECT_EQ(mistake(config),
            "class type \"oom\": there is no oom class \"gold\"; there are: high, middle, saved "
            "(named as default, or with a capacity)");
  config = Config();
  config.common.capacity = {{"gold", 1}};
  EXPECT_THAT(mistake(config), HasSubstr("there is no oom class \"gold\""));
}

}  // namespace
}  // namespace plimsoll::qos
