#include "qos/container_freezer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "linux/cgroup_stub_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One group, that can be frozen by somebody else, and whose thaw can fail.
class OneGroup : public linux::CgroupStub {
 public:
  absl::StatusOr<bool> Freeze(absl::string_view, absl::Time) override {
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

 private:
  mutable absl::Mutex mutex_;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  int thaws_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status thaw_status_ ABSL_GUARDED_BY(mutex_);
};

class ContainerFreezerTest : public testing::Test {
 protected:
  OneGroup group_;
  ContainerFreezer freezer_{&group_};
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
  // Nor does another change take it for somebody else's.
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

TEST(ContainerFreezerEndTest, TriesALastTime) {
  OneGroup group;
  {
    ContainerFreezer freezer(&group);
    group.SetThawStatus(absl::InternalError("no"));
    { const ContainerFreezer::Stop stop(&freezer, "/web"); }
    group.SetThawStatus(absl::OkStatus());
  }
  EXPECT_FALSE(group.frozen());
}

}  // namespace
}  // namespace plimsoll::qos
