#include "qos/container_freezer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>

#include "absl/time/clock.h"
#include "linux/cgroup/stub_for_test.h"
#include "qos/owned_in_memory_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A group that somebody else can freeze, and whose thaw can fail.
class OneGroup : public linux::CgroupStub {
 public:
  absl::StatusOr<bool> Freeze(absl::string_view, absl::Time) override {
    if (on_freeze) on_freeze();
    absl::MutexLock lock(&mutex_);
    if (!freeze_status.ok()) return freeze_status;
    if (frozen_) return false;
    frozen_ = true;
    return true;
  }
  absl::Status Thaw(absl::string_view) override {
    absl::MutexLock lock(&mutex_);
    ++thaws_;
    if (!thaw_status_.ok()) return thaw_status_;
    frozen_ = false;
    return absl::OkStatus();
  }
  void SetThawStatus(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    thaw_status_ = std::move(status);
  }
  void SetFrozen(bool frozen) {
    absl::MutexLock lock(&mutex_);
    frozen_ = frozen;
  }
  bool frozen() const {
    absl::MutexLock lock(&mutex_);
    return frozen_;
  }
  int thaws() const {
    absl::MutexLock lock(&mutex_);
    return thaws_;
  }
  bool AwaitThawed() const {
    const auto thawed = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !frozen_; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&thawed), absl::Minutes(1));
  }

  absl::Status freeze_status;
  std::function<void()> on_freeze;

 private:
  mutable absl::Mutex mutex_;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  int thaws_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status thaw_status_ ABSL_GUARDED_BY(mutex_);
};

class ContainerFreezerTest : public testing::Test {
 protected:
  // Marks that the next daemon would find if this one were killed now.
  std::set<std::string> Marks() const { return *owned_.ListOwned("frozen"); }

  OneGroup group_;
  OwnedInMemory owned_;
  ContainerFreezer freezer_{&group_, &owned_};
};

TEST_F(ContainerFreezerTest, IsStillForAsLongAsItIsStopped) {
  {
    const ContainerFreezer::Stop stop(&freezer_, "/web");
    EXPECT_TRUE(stop.is_still());
    EXPECT_TRUE(group_.frozen());
  }
  EXPECT_FALSE(group_.frozen());
  EXPECT_EQ(group_.thaws(), 1);
  EXPECT_THAT(freezer_.Troubles(), IsEmpty());
}

TEST_F(ContainerFreezerTest, WhatSomebodyElseFrozeStaysFrozen) {
  group_.SetFrozen(true);
  {
    const ContainerFreezer::Stop stop(&freezer_, "/web");
    EXPECT_FALSE(stop.is_still());
  }
  EXPECT_TRUE(group_.frozen());
  EXPECT_EQ(group_.thaws(), 0);
}

TEST_F(ContainerFreezerTest, AThawThatFailsIsTriedUntilItWorks) {
  group_.SetThawStatus(absl::ResourceExhaustedError("too many open files"));
  { const ContainerFreezer::Stop stop(&freezer_, "/web"); }
  EXPECT_THAT(freezer_.Trouble("/web"), HasSubstr("still frozen"));
  EXPECT_THAT(freezer_.Trouble("/web"), HasSubstr("too many open files"));
  EXPECT_EQ(freezer_.Trouble("/db"), "");
  EXPECT_THAT(freezer_.Troubles(), ElementsAre(HasSubstr("/web: it is still frozen")));
  // Nor does another change take the freeze for somebody else's.
  {
    const ContainerFreezer::Stop stop(&freezer_, "/web");
    EXPECT_FALSE(stop.is_still());
  }
  EXPECT_TRUE(group_.frozen());
  group_.SetThawStatus(absl::OkStatus());
  EXPECT_TRUE(group_.AwaitThawed());
  for (int i = 0; i < 6000 && !freezer_.Troubles().empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_THAT(freezer_.Troubles(), IsEmpty());
  const ContainerFreezer::Stop stop(&freezer_, "/web");
  EXPECT_TRUE(stop.is_still());
}

TEST_F(ContainerFreezerTest, AFreezeThatCannotBeTakenBackIsTakenBackLater) {
  group_.freeze_status = absl::AbortedError("not in time; and thawing it failed: EMFILE");
  group_.SetFrozen(true);
  {
    const ContainerFreezer::Stop stop(&freezer_, "/web");
    EXPECT_FALSE(stop.is_still());
  }
  EXPECT_TRUE(group_.AwaitThawed());
}

TEST_F(ContainerFreezerTest, AGroupThatIsGoneIsNobodysTrouble) {
  group_.SetThawStatus(absl::NotFoundError("no such group"));
  { const ContainerFreezer::Stop stop(&freezer_, "/web"); }
  EXPECT_THAT(freezer_.Troubles(), IsEmpty());
}

TEST_F(ContainerFreezerTest, StaysStillUntilTheLastLetsItGo) {
  std::optional<ContainerFreezer::Stop> rdt(std::in_place, &freezer_, "/web");
  std::optional<ContainerFreezer::Stop> oom(std::in_place, &freezer_, "/web");
  EXPECT_TRUE(oom->is_still());
  rdt.reset();
  EXPECT_TRUE(group_.frozen());
  EXPECT_EQ(group_.thaws(), 0);
  EXPECT_THAT(freezer_.Troubles(), IsEmpty());
  EXPECT_THAT(Marks(), ElementsAre("/web"));
  oom.reset();
  EXPECT_FALSE(group_.frozen());
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(ContainerFreezerTest, ManyAtOnceNeverSeeItRun) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        const ContainerFreezer::Stop stop(&freezer_, "/web");
        EXPECT_TRUE(stop.is_still());
        EXPECT_TRUE(group_.frozen());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(group_.frozen());
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(ContainerFreezerTest, TheMarkIsThereBeforeItIsFrozenAndUntilItRuns) {
  group_.on_freeze = [&] { EXPECT_THAT(Marks(), ElementsAre("/web")); };
  group_.SetThawStatus(absl::InternalError("no"));
  { const ContainerFreezer::Stop stop(&freezer_, "/web"); }
  EXPECT_THAT(Marks(), ElementsAre("/web"));
  group_.SetThawStatus(absl::OkStatus());
  for (int i = 0; i < 6000 && !Marks().empty(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(group_.frozen());
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(ContainerFreezerTest, WhatSomebodyElseFrozeHasNoMark) {
  group_.SetFrozen(true);
  { const ContainerFreezer::Stop stop(&freezer_, "/web"); }
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(ContainerFreezerTest, WithoutAMarkNothingIsFrozen) {
  owned_.refuse = true;
  group_.on_freeze = [] { ADD_FAILURE() << "nobody could find it after a kill"; };
  const ContainerFreezer::Stop stop(&freezer_, "/web");
  EXPECT_FALSE(stop.is_still());
}

TEST_F(ContainerFreezerTest, AMarkThatCannotBeStruckOutIsNoFreeze) {
  owned_.refuse_removal = true;
  { const ContainerFreezer::Stop stop(&freezer_, "/web"); }
  EXPECT_FALSE(group_.frozen());
  EXPECT_THAT(freezer_.Troubles(), IsEmpty());
  owned_.refuse_removal = false;
  for (int i = 0; i < 6000 && !Marks().empty(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_THAT(Marks(), IsEmpty());
  EXPECT_EQ(group_.thaws(), 1) << "by then somebody else may have frozen it";
}

// A daemon that is killed in between: another one with the same records.
TEST_F(ContainerFreezerTest, TheNextDaemonThaws) {
  const ContainerFreezer::Stop stop(&freezer_, "/web");
  ContainerFreezer next(&group_, &owned_);
  group_.SetThawStatus(absl::ResourceExhaustedError("too many open files"));
  const absl::Status failed = next.Recover();
  EXPECT_THAT(std::string(failed.message()), HasSubstr("/web: too many open files"));
  EXPECT_THAT(next.Troubles(), ElementsAre(HasSubstr("/web: it is still frozen")));
  EXPECT_THAT(Marks(), ElementsAre("/web"));
  group_.SetThawStatus(absl::OkStatus());
  EXPECT_TRUE(group_.AwaitThawed());
  for (int i = 0; i < 6000 && !Marks().empty(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST(ContainerFreezerEndTest, TriesALastTime) {
  OneGroup group;
  {
    ContainerFreezer freezer(&group, nullptr);
    group.SetThawStatus(absl::InternalError("no"));
    { const ContainerFreezer::Stop stop(&freezer, "/web"); }
    group.SetThawStatus(absl::OkStatus());
  }
  EXPECT_FALSE(group.frozen());
}

}  // namespace
}  // namespace plimsoll::qos
