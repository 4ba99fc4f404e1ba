#include "sqlite/disk_reserve.h"

#include "gtest/gtest.h"
#include "sqlite/small_disk_for_test.h"

namespace plimsoll::sqlite {
namespace {

constexpr int64_t kBytes = 1 << 20;

class DiskReserveTest : public SmallDiskTest {};

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
}  // namespace plimsoll::sqlite
