#include "linux/cgroup/readier.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "linux/cgroup/stub_for_test.h"

namespace plimsoll::linux {
namespace {

class CgroupReadierTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cgroups = CgroupManager::Detect(root_);
    ASSERT_TRUE(cgroups.ok()) << cgroups.status();
    cgroups_ = *std::move(cgroups);
  }

  FsRoot root_ = *FsRoot::Open("/");
  std::unique_ptr<CgroupManager> cgroups_;
};

TEST_F(CgroupReadierTest, AMoveInPlaceChangesNoMembership) {
  const auto before = root_.Read("proc/thread-self/cgroup");
  ASSERT_TRUE(before.ok()) << before.status();
  const absl::Status moved = cgroups_->MoveInPlace(root_);
  EXPECT_TRUE(moved.ok()) << moved;
  EXPECT_EQ(*root_.Read("proc/thread-self/cgroup"), *before);
}

TEST_F(CgroupReadierTest, AMoveInPlaceWithoutProcSaysSo) {
  EXPECT_TRUE(absl::IsNotFound(cgroups_->MoveInPlace(*root_.Sub("sys"))));
}

// Counts the requests to move in place.
class Counter : public CgroupStub {
 public:
  absl::Status MoveInPlace(const FsRoot&) override {
    absl::MutexLock lock(&mutex_);
    ++moves_;
    return absl::InternalError("a hint that can't be followed is none");
  }
  // Waits for a minute at most.
  bool AwaitMoves(int count) {
    const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return moves_ >= count; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(1));
  }
  int moves() const {
    absl::MutexLock lock(&mutex_);
    return moves_;
  }

 private:
  mutable absl::Mutex mutex_;
  int moves_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(CgroupReadierTest, WhatIsExpectedLeadsToAMove) {
  Counter counter;
  {
    CgroupReadier readier(&counter, root_);
    for (int i = 1; i <= 3; ++i) {
      readier.Expect();
      ASSERT_TRUE(counter.AwaitMoves(i));
    }
  }
  EXPECT_EQ(counter.moves(), 3) << "none that nobody expected";
}

TEST_F(CgroupReadierTest, EndsWhileMovesAreExpected) {
  for (int i = 0; i < 20; ++i) {
    CgroupReadier readier(cgroups_.get(), root_);
    readier.Expect();
    readier.Expect();
  }
}

}  // namespace
}  // namespace plimsoll::linux
