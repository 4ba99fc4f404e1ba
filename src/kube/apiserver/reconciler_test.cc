#include "kube/apiserver/reconciler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::kube {
namespace {

ReconcilerOptions Quick() {
  ReconcilerOptions options;
  options.retry = {
      .first = absl::Milliseconds(1), .longest = absl::Milliseconds(4), .jitter = [] { return 0; }};
  return options;
}

TEST(Reconciler, RunsOnceForAWakeDuringARun) {
  std::atomic<int> runs = 0;
  std::atomic<bool> is_running = false;
  absl::Notification begun;
  absl::Notification go_on;
  Reconciler reconciler(
      [&] {
        EXPECT_FALSE(is_running.exchange(true));
        if (++runs == 1) {
          begun.Notify();
          go_on.WaitForNotification();
        }
        is_running = false;
        return absl::OkStatus();
      },
      Quick());
  EXPECT_EQ(runs, 0);
  reconciler.Wake();
  begun.WaitForNotification();
  for (int i = 0; i < 10; ++i) reconciler.Wake();
  go_on.Notify();
  EXPECT_TRUE(WaitUntil([&] { return runs == 2; }));
}

TEST(Reconciler, RunsAgainUntilItSucceeds) {
  std::atomic<int> runs = 0;
  std::vector<absl::StatusCode> results;
  std::atomic<bool> is_done = false;
  ReconcilerOptions options = Quick();
  options.on_result = [&](const absl::Status& status) {
    results.push_back(status.code());
    if (status.ok()) is_done = true;
  };
  {
    Reconciler reconciler(
        [&] { return ++runs < 5 ? absl::UnavailableError("away") : absl::OkStatus(); }, options);
    reconciler.Wake();
    EXPECT_TRUE(WaitUntil([&] { return is_done.load(); }));
  }
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(results.size(), 5u);
}

TEST(Reconciler, RunsByItselfAtIntervals) {
  std::atomic<int> runs = 0;
  ReconcilerOptions options = Quick();
  options.every = absl::Milliseconds(1);
  const Reconciler reconciler(
      [&] {
        ++runs;
        return absl::OkStatus();
      },
      options);
  EXPECT_TRUE(WaitUntil([&] { return runs >= 3; }));
}

TEST(Reconciler, CancelledIsTheEnd) {
  std::atomic<int> runs = 0;
  ReconcilerOptions options = Quick();
  options.every = absl::Milliseconds(1);
  absl::Notification ended;
  options.on_result = [&](const absl::Status&) { ended.Notify(); };
  Reconciler reconciler(
      [&] {
        ++runs;
        return absl::CancelledError("the client was stopped");
      },
      options);
  reconciler.Wake();
  ended.WaitForNotification();
  reconciler.Wake();
}

TEST(Reconciler, ItsEndDoesntWaitForARest) {
  ReconcilerOptions options = Quick();
  options.rest = absl::Hours(1);
  options.retry.first = options.retry.longest = absl::Hours(1);
  for (const absl::Status& result : {absl::OkStatus(), absl::UnavailableError("away")}) {
    absl::Notification ran;
    options.on_result = [&](const absl::Status&) { ran.Notify(); };
    Reconciler reconciler([&] { return result; }, options);
    reconciler.Wake();
    ran.WaitForNotification();
    reconciler.Wake();
  }
}

}  // namespace
}  // namespace plimsoll::kube
