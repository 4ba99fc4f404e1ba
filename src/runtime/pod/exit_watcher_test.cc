#include "runtime/pod/exit_watcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "base/programs/subprocess.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

UniqueFd PidfdOf(const Child& child) {
  return UniqueFd(fcntl(child.pidfd(), F_DUPFD_CLOEXEC, 3));
}

TEST(ExitWatcherTest, CallsOnceForEachProcess) {
  constexpr int kProcesses = 20;
  ExitWatcher watcher;
  ASSERT_TRUE(watcher.Start().ok());
  std::atomic<int> calls{0};
  absl::BlockingCounter all(kProcesses);
  for (int i = 0; i < kProcesses; ++i) {
    auto child = Spawn({.argv = {"/bin/true"}});
    ASSERT_TRUE(child.ok()) << child.status();
    ASSERT_TRUE(watcher
                    .Watch(PidfdOf(*child),
                           [&] {
                             ++calls;
                             all.DecrementCount();
                           })
                    .ok());
  }
  all.Wait();
  EXPECT_EQ(calls, kProcesses);
}

TEST(ExitWatcherTest, AProcessThatHasExitedIsReportedAtOnce) {
  ExitWatcher watcher;
  ASSERT_TRUE(watcher.Start().ok());
  auto child = Spawn({.argv = {"/bin/true"}});
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(child->Wait().ok());
  absl::Notification called;
  ASSERT_TRUE(watcher.Watch(PidfdOf(*child), [&] { called.Notify(); }).ok());
  EXPECT_TRUE(called.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST(ExitWatcherTest, ACallbackMayWatchAnother) {
  ExitWatcher watcher;
  ASSERT_TRUE(watcher.Start().ok());
  auto first = Spawn({.argv = {"/bin/true"}});
  auto second = Spawn({.argv = {"/bin/true"}});
  ASSERT_TRUE(first.ok() && second.ok());
  absl::Notification called;
  ASSERT_TRUE(
      watcher
          .Watch(PidfdOf(*first),
                 [&] { watcher.Watch(PidfdOf(*second), [&] { called.Notify(); }).IgnoreError(); })
          .ok());
  EXPECT_TRUE(called.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST(ExitWatcherTest, EndsWithProcessesStillWatched) {
  auto child = Spawn({.argv = {"/bin/sleep", "60"}});
  ASSERT_TRUE(child.ok()) << child.status();
  {
    ExitWatcher watcher;
    ASSERT_TRUE(watcher.Start().ok());
    ASSERT_TRUE(watcher.Watch(PidfdOf(*child), [] { ADD_FAILURE(); }).ok());
  }
  EXPECT_TRUE(child->Signal(SIGKILL).ok());
  EXPECT_TRUE(child->Wait().ok());
}

TEST(ExitWatcherTest, RefusesWhatIsNoProcess) {
  ExitWatcher watcher;
  ASSERT_TRUE(watcher.Start().ok());
  EXPECT_FALSE(watcher.Watch(UniqueFd(-1), [] {}).ok());
}

}  // namespace
}  // namespace plimsoll::runtime
