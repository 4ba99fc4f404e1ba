#include "runtime/store/disk_reserve.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

constexpr int64_t kBytes = 1 << 20;

// Tests on a small file system of its own.
class DiskReserveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
    ASSERT_EQ(mount("plimsoll-test", dir_.path().c_str(), "tmpfs", 0, "size=8m"), 0);
    root_ = *FsRoot::Open(dir_.path());
  }
  void TearDown() override {
    root_.reset();
    if (geteuid() != 0) return;
    EXPECT_EQ(umount2(dir_.path().c_str(), MNT_DETACH), 0);
  }
  int64_t ReservedBytes() const {
    const auto info = root_->Stat("reserve");
    return info.ok() ? info->st_blocks * 512 : 0;
  }
  void Fill() const {
    const UniqueFd file = *root_->OpenFile("filler", O_WRONLY | O_CREAT, 0600);
    const std::string block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
  }

  TestDir dir_;
  std::optional<FsRoot> root_;
};

TEST_F(DiskReserveTest, IsTakenGivenAndTakenAgain) {
  DiskReserve reserve(*root_, kBytes);
  reserve.Keep();
  EXPECT_FALSE(reserve.is_missing());
  EXPECT_GE(ReservedBytes(), kBytes);
  Fill();
  EXPECT_FALSE(root_->ReplaceFile("more", std::string(64 << 10, 'x')).ok());
  EXPECT_TRUE(reserve.Release());
  EXPECT_TRUE(reserve.is_missing());
  EXPECT_TRUE(root_->ReplaceFile("more", std::string(64 << 10, 'x')).ok());
  EXPECT_FALSE(reserve.Release()) << "there is none left";
  reserve.Restore();
  EXPECT_EQ(ReservedBytes(), 0) << "what was made free is not ours at once";
  ASSERT_TRUE(root_->RemoveFile("filler").ok());
  reserve.Restore();
  EXPECT_GE(ReservedBytes(), kBytes);
}

TEST_F(DiskReserveTest, WithoutRoomNothingIsMade) {
  Fill();
  DiskReserve reserve(*root_, kBytes);
  reserve.Keep();
  EXPECT_FALSE(root_->Exists("reserve"));
  EXPECT_FALSE(reserve.Release());
  // The reserve is made once there is room.
  EXPECT_TRUE(reserve.is_missing());
  ASSERT_TRUE(root_->RemoveFile("filler").ok());
  reserve.Restore();
  EXPECT_GE(ReservedBytes(), kBytes);
  EXPECT_FALSE(reserve.is_missing());
}

}  // namespace
}  // namespace plimsoll::runtime
