#include "sqlite/reserve_keeper.h"

#include <string>

#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"
#include "sqlite/small_disk_for_test.h"

namespace plimsoll::sqlite {
namespace {

constexpr int64_t kReserve = 1 << 20;
constexpr absl::Duration kSoon = absl::Milliseconds(5);

class ReserveKeeperTest : public SmallDiskTest {
 protected:
  absl::Status WriteSome() const { return root_->ReplaceFile("some", std::string(64 << 10, 'x')); }
};

TEST_F(ReserveKeeperTest, OnlyAnEndMayUseTheReserveWhichComesBack) {
  ReserveKeeper keeper(DiskReserve(*root_, kReserve), kSoon);
  EXPECT_GE(ReservedBytes(), kReserve);
  Fill();
  EXPECT_TRUE(absl::IsResourceExhausted(keeper.Write(false, [this] { return WriteSome(); })));
  EXPECT_GE(ReservedBytes(), kReserve);
  EXPECT_TRUE(keeper.Write(true, [this] { return WriteSome(); }).ok());
  EXPECT_EQ(ReservedBytes(), 0);
  ASSERT_TRUE(root_->RemoveFile("filler").ok());
  EXPECT_TRUE(WaitUntil([this] { return ReservedBytes() >= kReserve; }));
}

TEST_F(ReserveKeeperTest, WithoutAReserveTheErrorIsTheWrites) {
  Fill();
  ReserveKeeper keeper(DiskReserve(*root_, kReserve), kSoon);
  int writes = 0;
  const absl::Status status = keeper.Write(true, [&] {
    ++writes;
    return WriteSome();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(writes, 1);
}

TEST_F(ReserveKeeperTest, AnotherErrorLeavesTheReserve) {
  ReserveKeeper keeper(DiskReserve(*root_, kReserve), kSoon);
  EXPECT_TRUE(absl::IsInternal(keeper.Write(true, [] { return absl::InternalError("no"); })));
  EXPECT_GE(ReservedBytes(), kReserve);
}

}  // namespace
}  // namespace plimsoll::sqlite
