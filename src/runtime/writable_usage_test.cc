#include "runtime/writable_usage.h"

#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Key;
using ::testing::UnorderedElementsAre;

TEST(WritableUsageTest, SumsTheUpperDirectories) {
  TestDir dir;
  WritableUsage usage(dir.root());
  ASSERT_TRUE(usage.Read(absl::ZeroDuration()).ok()) << "no container yet";
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(dir.root().MakeDirs(std::string("containers/") + id + "/upper/etc").ok());
    ASSERT_TRUE(dir.root().MakeDirs(std::string("containers/") + id + "/work/work").ok());
  }
  ASSERT_TRUE(dir.root().MakeDirs("containers/without").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("containers/b/upper/etc/big", std::string(300'000, 'x')).ok());
  const auto layers = usage.Read(absl::ZeroDuration());
  ASSERT_TRUE(layers.ok()) << layers.status();
  EXPECT_EQ((*layers)->directory, dir.root().PathOf("containers"));
  EXPECT_THAT((*layers)->by_container, UnorderedElementsAre(Key("a"), Key("b")));
  EXPECT_EQ((*layers)->by_container.at("a").inodes, 2u);
  EXPECT_EQ((*layers)->by_container.at("b").inodes, 3u);
  EXPECT_GE((*layers)->by_container.at("b").bytes, 300'000u);
  EXPECT_EQ((*layers)->total.inodes, 5u);
}

TEST(WritableUsageTest, WalksAgainOnlyForThoseWhoNeedItFresh) {
  TestDir dir;
  WritableUsage usage(dir.root());
  const auto first = usage.Read(absl::Hours(1));
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  EXPECT_EQ(*usage.Read(absl::Hours(1)), *first);
  EXPECT_EQ((*usage.Read(absl::ZeroDuration()))->by_container.size(), 1u);
  EXPECT_EQ((*usage.Read(absl::Hours(1)))->by_container.size(), 1u);
}

// A disk whose walk number `slow` takes until it is let.
struct SlowDisk {
  explicit SlowDisk(int slow_walk) : slow(slow_walk) {}

  const int slow;
  absl::Notification asked;
  absl::Notification let;
  int walks = 0;  // by one thread at a time

  absl::StatusOr<DiskUsage> Measure() {
    if (++walks == slow) {
      asked.Notify();
      let.WaitForNotification();
    }
    return DiskUsage{static_cast<uint64_t>(walks), 1};
  }
};

TEST(WritableUsageTest, OneThatWalksHoldsUpNobodyWhoCanDoWithTheLast) {
  TestDir dir;
  SlowDisk disk(2);
  WritableUsage usage(dir.root(), [&disk](const FsRoot&) { return disk.Measure(); });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  const auto first = usage.Read(absl::ZeroDuration());
  ASSERT_TRUE(first.ok()) << first.status();
  std::thread walker([&usage] { EXPECT_TRUE(usage.Read(absl::ZeroDuration()).ok()); });
  disk.asked.WaitForNotification();
  // With the walk under way: this would never come back if it waited for that.
  EXPECT_EQ(*usage.Read(absl::Hours(1)), *first);
  disk.let.Notify();
  walker.join();
  EXPECT_EQ((*usage.Read(absl::Hours(1)))->total.bytes, 2u);
}

TEST(WritableUsageTest, SeveralThatAskAtOnceShareAWalk) {
  TestDir dir;
  SlowDisk disk(1);
  WritableUsage usage(dir.root(), [&disk](const FsRoot&) { return disk.Measure(); });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  const auto read = [&usage] { EXPECT_TRUE(usage.Read(absl::Hours(1)).ok()); };
  std::thread walker(read);
  disk.asked.WaitForNotification();
  std::thread sharer(read);
  disk.let.Notify();
  walker.join();
  sharer.join();
  EXPECT_EQ(disk.walks, 1);
}

}  // namespace
}  // namespace plimsoll::runtime
