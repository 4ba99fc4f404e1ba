#include "runtime/writable_usage.h"

#include <atomic>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
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

TEST(WritableUsageTest, NamesTheImagesFileSystemIfItIsTheSame) {
  TestDir dir;
  WritableUsage usage(dir.root());
  ASSERT_TRUE(dir.root().MakeDirs("images").ok());
  const auto name = [&] { return (*usage.Read(absl::ZeroDuration()))->directory; };
  EXPECT_EQ(name(), dir.root().PathOf("images")) << "before the first container";
  ASSERT_TRUE(dir.root().MakeDirs("containers").ok());
  EXPECT_EQ(name(), dir.root().PathOf("images"));
  if (geteuid() != 0) GTEST_SKIP() << "a mount needs root";
  const std::string containers = dir.root().PathOf("containers");
  ASSERT_TRUE(linux::MountTmpfs(containers, 1 << 20, "").ok());
  EXPECT_EQ(name(), containers) << "a disk of their own";
  EXPECT_TRUE(linux::Unmount(containers, /*lazy=*/false).ok());
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

// A disk on which walk number `slow` lasts until it is released.
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
  WritableUsage usage(dir.root(),
                      [&disk](const FsRoot&, const std::stop_token&) { return disk.Measure(); });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  const auto first = usage.Read(absl::ZeroDuration());
  ASSERT_TRUE(first.ok()) << first.status();
  std::thread walker([&usage] { EXPECT_TRUE(usage.Read(absl::ZeroDuration()).ok()); });
  disk.asked.WaitForNotification();
  // With a walk under way: this would never return if it waited for the walk.
  EXPECT_EQ(*usage.Read(absl::Hours(1)), *first);
  disk.let.Notify();
  walker.join();
  EXPECT_EQ((*usage.Read(absl::Hours(1)))->total.bytes, 2u);
}

TEST(WritableUsageTest, SeveralThatAskAtOnceShareAWalk) {
  TestDir dir;
  SlowDisk disk(1);
  WritableUsage usage(dir.root(),
                      [&disk](const FsRoot&, const std::stop_token&) { return disk.Measure(); });
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

TEST(WritableUsageTest, WhoTakesTheLastHasAnotherWalkMadeAndWaitsForNone) {
  TestDir dir;
  SlowDisk disk(2);
  WritableUsage usage(dir.root(),
                      [&disk](const FsRoot&, const std::stop_token&) { return disk.Measure(); });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  const auto first = usage.ReadLast(absl::Hours(1));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->total.bytes, 1u) << "there was none before";
  EXPECT_EQ(*usage.ReadLast(absl::Hours(1)), *first);
  EXPECT_FALSE(disk.asked.HasBeenNotified()) << "it is not too old";
  // The disk rests first, ten times as long as the walk before.
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_EQ(*usage.ReadLast(absl::ZeroDuration()), *first);
    return disk.asked.HasBeenNotified();
  }));
  // With a walk under way: these neither wait nor begin another.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*usage.ReadLast(absl::ZeroDuration()), *first);
  disk.let.Notify();
  EXPECT_TRUE(WaitUntil([&] { return (*usage.ReadLast(absl::Hours(1)))->total.bytes == 2; }));
}

TEST(WritableUsageTest, AWalkThatFailedAsideLeavesTheLastAndIsTriedAgain) {
  TestDir dir;
  std::atomic<int> walks = 0;
  WritableUsage usage(dir.root(),
                      [&walks](const FsRoot&, const std::stop_token&) -> absl::StatusOr<DiskUsage> {
                        const int walk = ++walks;
                        if (walk == 2) return absl::InternalError("the disk is gone");
                        return DiskUsage{static_cast<uint64_t>(walk), 1};
                      });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  std::set<uint64_t> seen;
  EXPECT_TRUE(WaitUntil([&] {
    const auto last = usage.ReadLast(absl::ZeroDuration());
    if (last.ok()) seen.insert((*last)->total.bytes);
    return !last.ok() || *seen.rbegin() > 2;
  }));
  EXPECT_THAT(seen, AllOf(Contains(1u), Not(Contains(2u))));
  EXPECT_GE(walks, 3);
}

// Otherwise each container in a list would start a walk.
TEST(WritableUsageTest, AFirstWalkThatFailedIsNotTriedAgainWhileTheDiskRests) {
  constexpr absl::Duration kWalk = absl::Milliseconds(10);
  TestDir dir;
  std::atomic<int> walks = 0;
  WritableUsage usage(dir.root(),
                      [&](const FsRoot&, const std::stop_token&) -> absl::StatusOr<DiskUsage> {
                        ++walks;
                        absl::SleepFor(kWalk);
                        return absl::InternalError("the disk is gone");
                      });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  const absl::Time began = absl::Now();
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(absl::IsInternal(usage.ReadLast(absl::ZeroDuration()).status()));
  }
  // A walk, then ten times as long without one.
  EXPECT_LE(walks, 1 + (absl::Now() - began) / (11 * kWalk));
}

// A layer whose measuring never ends: only a cancellation ends it.
struct EndlessLayer {
  absl::Notification asked;
  std::atomic<bool> stopped = false;

  absl::StatusOr<DiskUsage> Measure(const std::stop_token& stop) {
    asked.Notify();
    stopped = WaitUntil([&stop] { return stop.stop_requested(); });
    return absl::CancelledError("called off");
  }
};

TEST(WritableUsageTest, ItsEndCallsOffTheWalkAside) {
  TestDir dir;
  EndlessLayer layer;
  std::atomic<int> walks = 0;
  {
    WritableUsage usage(
        dir.root(), [&](const FsRoot&, const std::stop_token& stop) -> absl::StatusOr<DiskUsage> {
          if (++walks == 1) return DiskUsage{1, 1};
          return layer.Measure(stop);
        });
    ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
    ASSERT_TRUE(WaitUntil([&] {
      EXPECT_TRUE(usage.ReadLast(absl::ZeroDuration()).ok());
      return layer.asked.HasBeenNotified();
    }));
    EXPECT_FALSE(layer.stopped);
  }
  EXPECT_TRUE(layer.stopped);
  EXPECT_EQ(walks, 2);
}

// The walk is part of a call that an ending server waits for.
TEST(WritableUsageTest, AWalkThatSomebodyWaitsForCanBeCalledOff) {
  TestDir dir;
  EndlessLayer layer;
  WritableUsage usage(dir.root(), [&layer](const FsRoot&, const std::stop_token& stop) {
    return layer.Measure(stop);
  });
  ASSERT_TRUE(dir.root().MakeDirs("containers/a/upper").ok());
  absl::Status read;
  std::thread reader([&] { read = usage.Read(absl::ZeroDuration()).status(); });
  layer.asked.WaitForNotification();
  usage.CallOff();
  reader.join();
  EXPECT_TRUE(layer.stopped);
  EXPECT_TRUE(absl::IsCancelled(read)) << read;
  const absl::Status later = usage.Read(absl::ZeroDuration()).status();  // measures no layer
  EXPECT_TRUE(absl::IsCancelled(later)) << later;
}

}  // namespace
}  // namespace plimsoll::runtime
