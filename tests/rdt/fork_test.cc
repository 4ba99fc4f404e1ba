// Containers that fork while they are moved.
#include <signal.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "linux/cgroup/stub_for_test.h"
#include "rdt/rdt_fixture.h"

namespace plimsoll::qos {
namespace {

using ::testing::IsEmpty;

// A CgroupManager of a machine that can't freeze, or that always finishes freezing, however busy.
class FreezerOrNot : public linux::CgroupStub {
 public:
  FreezerOrNot(linux::CgroupManager* inner, bool can_freeze)
      : inner_(*inner), can_freeze_(can_freeze) {}
  absl::StatusOr<bool> Freeze(absl::string_view path, absl::Time) override {
    if (!can_freeze_) return absl::FailedPreconditionError("no freezer");
    return inner_.Freeze(path, absl::Now() + absl::Seconds(20));
  }
  absl::Status Thaw(absl::string_view path) override {
    if (refuses_thaw) return absl::ResourceExhaustedError("too many open files");
    return inner_.Thaw(path);
  }
  absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view path) const override {
    auto threads = inner_.Threads(path);
    const pid_t ended = just_ended;
    if (threads.ok() && ended != 0) {
      threads->insert(std::upper_bound(threads->begin(), threads->end(), ended), ended);
    }
    return threads;
  }

  // Listed as if it ended right after; 0: none.
  std::atomic<pid_t> just_ended = 0;
  std::atomic<bool> refuses_thaw = false;

 private:
  linux::CgroupManager& inner_;
  const bool can_freeze_;
};

class RdtForkTest : public RdtFixture {
 protected:
  void StartWithFreezer(bool can_freeze) {
    groups_ = std::make_unique<FreezerOrNot>(cgroups_.get(), can_freeze);
    freezer_.emplace(groups_.get(), &owned_);
    auto type = MakeRdtType(options_, {host_, *root_, groups_.get(), &owned_, &*freezer_});
    ASSERT_TRUE(type.ok()) << type.status();
    type_ = *std::move(type);
  }
  void TearDown() override {
    type_.reset();
    freezer_.reset();
    RdtFixture::TearDown();
  }
  // True members, those that the file system hides too.
  std::vector<pid_t> Of(const Container& container, const std::string& group) {
    const std::vector<pid_t> members =
        resctrl_ != nullptr ? *resctrl_->Members(group) : *fs_->Threads(group);
    std::vector<pid_t> both;
    const std::vector<pid_t> threads = container.Threads();
    std::set_intersection(members.begin(), members.end(), threads.begin(), threads.end(),
                          std::back_inserter(both));
    return both;
  }

  std::unique_ptr<FreezerOrNot> groups_;
};

// The race of a fork with a move: a just forked thread can neither be seen nor moved.
TEST_F(RdtForkTest, AFrozenContainerHasNoForkInFlight) {
  PLIMSOLL_NEEDS_STAND_IN();
  StartWithFreezer(true);
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t child = web.member().Fork();
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_THAT(Of(web, "silver"), ::testing::Contains(child));
  EXPECT_THAT(Of(web, "gold"), IsEmpty());
}

TEST_F(RdtForkTest, WithoutAFreezerALaterLookFindsIt) {
  PLIMSOLL_NEEDS_STAND_IN();
  StartWithFreezer(false);
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t child = web.member().Fork();
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_THAT(Of(web, "gold"), ::testing::ElementsAre(child));
  ASSERT_TRUE(resctrl_->ShowAllThreads().ok());
  EXPECT_TRUE(WaitFor([&] { return Of(web, "gold").empty(); }));
  EXPECT_TRUE(IsWholeIn(web, "silver"));
}

TEST_F(RdtForkTest, WithoutAFreezerItScansUntilNoneIsLeft) {
  PLIMSOLL_NEEDS_STAND_IN();
  StartWithFreezer(false);
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  for (int i = 0; i < 20; ++i) {
    web.member().Fork();
    EXPECT_EQ(Assign(web, i % 2 == 0 ? "gold" : "silver", i % 2 == 0 ? "silver" : "gold"), "OK");
    EXPECT_TRUE(IsWholeIn(web, i % 2 == 0 ? "silver" : "gold"));
  }
  // A refusal puts everything back as well.
  ASSERT_TRUE(resctrl_->RefuseNext("write", "silver/tasks", EIO, /*skip=*/5).ok());
  EXPECT_NE(Assign(web, "gold", "silver"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "gold"));
}

// A thread can end between two lists, and stays in /proc until its parent reaps it.
TEST_F(RdtForkTest, WhoHasJustEndedIsNowhereAndNoDrift) {
  StartWithFreezer(false);
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  const pid_t child = web.member().Fork();
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_TRUE(WaitFor([&] { return linux::ReadProcess(host_, child)->zombie; }));
  groups_->just_ended = child;
  EXPECT_EQ(Drift(web, "gold"), "");
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
}

// A thousand changes of class of a container that forks all the time: 6 to 15 s. On a very busy
// machine fewer, for a minute.
TEST_F(RdtForkTest, AThousandChangesLeaveNoThreadBehind) {
  StartWithFreezer(true);
  Container web(cgroups_.get(), "web");
  web.member().NewThread();
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_EQ(web.member().Ask("storm"), "storm");
  const std::string names[] = {"gold", "silver"};
  const absl::Time end = absl::Now() + absl::Minutes(1);
  for (int i = 0; i < 1000 && absl::Now() < end; ++i) {
    ASSERT_EQ(Assign(web, names[i % 2], names[(i + 1) % 2]), "OK") << "change " << i;
    ASSERT_THAT(Of(web, names[i % 2]), IsEmpty()) << "change " << i;
    if (i % 50 == 49) {
      ASSERT_EQ(Drift(web, names[(i + 1) % 2]), "") << "change " << i;
    }
  }
}

// A reload moves the container back into a group that was made again, the daemon can't thaw it and
// is killed: the next one finds the mark.
TEST_F(RdtForkTest, WhatAReloadFroze) {
  StartWithFreezer(true);
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  groups_->refuses_thaw = true;
  auto pending = type_->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  ASSERT_TRUE((*pending)->Commit({{web.target(), "gold"}}).ok());
  const std::string path = web.target().cgroup_path;
  EXPECT_THAT(Drift(web, "gold"), ::testing::HasSubstr("still frozen"));
  EXPECT_THAT(*owned_.ListOwned("frozen"), ::testing::ElementsAre(path));
  const bool v2 = cgroups_->layout() == linux::CgroupLayout::kV2;
  const auto state = [&] {
    return *cgroups_->ReadFile(path, "freezer", v2 ? "cgroup.freeze" : "freezer.state");
  };
  EXPECT_EQ(state(), v2 ? "1" : "FROZEN");
  type_.reset();
  freezer_.reset();
  EXPECT_EQ(state(), v2 ? "1" : "FROZEN");
  freezer_.emplace(cgroups_.get(), &owned_);
  const absl::Status recovered = freezer_->Recover();
  EXPECT_TRUE(recovered.ok()) << recovered;
  EXPECT_EQ(state(), v2 ? "0" : "THAWED");
  EXPECT_THAT(*owned_.ListOwned("frozen"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::qos
