#include "pod_runner/pod_files/pod_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"

namespace plimsoll::pod {
namespace {

absl::StatusOr<PodLock> Take(const TestDir& dir, const std::string& name,
                             absl::Duration patience = absl::Minutes(5),
                             const std::function<bool()>& give_up = nullptr) {
  return PodLock::TakeName(dir.root(), "state", "default", name, patience, give_up);
}

TEST(PodLock, OneHolderAndNothingIsLeft) {
  TestDir dir;
  {
    const auto held = Take(dir, "web");
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(Take(dir, "web", absl::ZeroDuration()).status()));
    EXPECT_TRUE(Take(dir, "db", absl::ZeroDuration()).ok()) << "another name is another lock";
    EXPECT_TRUE(
        absl::IsCancelled(Take(dir, "web", absl::Minutes(5), [] { return true; }).status()));
  }
  EXPECT_TRUE(Take(dir, "web", absl::ZeroDuration()).ok());
  EXPECT_TRUE(dir.root().List("state/pods")->empty());
}

TEST(PodLock, WhoChoosesUserIdsIsAloneToo) {
  TestDir dir;
  const auto take = [&dir] {
    return PodLock::TakeUserIds(dir.root(), "state", absl::ZeroDuration(), nullptr);
  };
  {
    const auto held = take();
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(take().status()));
    EXPECT_TRUE(Take(dir, "web", absl::ZeroDuration()).ok()) << "names are others'";
  }
  EXPECT_TRUE(take().ok());
}

TEST(PodLock, TheFileOfAKilledHolderIsRemoved) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("state/pods").ok());
  const auto held = Take(dir, "web");
  ASSERT_TRUE(held.ok()) << held.status();
  for (const char* file : {"name-0123456789abcdef.lock", "user-ids.lock", "other"}) {
    ASSERT_TRUE(dir.root().ReplaceFile(absl::StrCat("state/pods/", file), "").ok());
  }
  const auto files = dir.root().List("state/pods");
  ASSERT_TRUE(files.ok()) << files.status();
  for (const std::string& file : *files) PodLock::RemoveAbandoned(dir.root(), "state", file);
  EXPECT_EQ(dir.root().List("state/pods")->size(), 2u) << "the held one and the other stay";
  EXPECT_TRUE(dir.root().Exists("state/pods/other"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Take(dir, "web", absl::ZeroDuration()).status()));
}

TEST(PodLock, NeverTwoAtOnceThoughTheFileComesAndGoes) {
  TestDir dir;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const auto held = Take(dir, "web");
        ASSERT_TRUE(held.ok()) << held.status();
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(dir.root().List("state/pods")->empty());
}

}  // namespace
}  // namespace plimsoll::pod
