#include "linux/cgroup_readier.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "base/fs_root.h"

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

TEST_F(CgroupReadierTest, EndsWhileMovesAreExpected) {
  for (int i = 0; i < 20; ++i) {
    CgroupReadier readier(cgroups_.get(), root_);
    readier.Expect();
    readier.Expect();
  }
}

}  // namespace
}  // namespace plimsoll::linux
