#include "pod_runner/runtime_client/call_watch.h"

#include <atomic>

#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::pod {
namespace {

TEST(CallWatchTest, TellsOfADaemonThatIsSilentAndBackAgain) {
  std::atomic<bool> answers = false;
  std::atomic<int> silent = 0;
  std::atomic<int> back = 0;
  CallWatch watch({.patience = absl::Milliseconds(1),
                   .answers = [&] { return answers.load(); },
                   .silent = [&] { ++silent; },
                   .back = [&] { ++back; }});
  const CallWatch::Call call(&watch, [] {});
  EXPECT_TRUE(WaitUntil([&] { return silent == 1; }));
  EXPECT_EQ(back, 0);
  answers = true;
  EXPECT_TRUE(WaitUntil([&] { return back == 1; }));
  EXPECT_EQ(silent, 1);
}

TEST(CallWatchTest, ACallThatEndsSoonAsksNothing) {
  std::atomic<int> asked = 0;
  CallWatch watch({.patience = absl::Hours(1), .answers = [&] { return ++asked > 0; }});
  {
    const CallWatch::Call call(&watch, [] {});
  }
  EXPECT_EQ(asked, 0);
}

TEST(CallWatchTest, AbandonEndsCallsThatAreAndThoseThatCome) {
  CallWatch watch({.patience = absl::Hours(1), .answers = [] { return true; }});
  int first = 0;
  int second = 0;
  const CallWatch::Call early(&watch, [&] { ++first; });
  EXPECT_FALSE(watch.abandoned());
  watch.Abandon();
  EXPECT_TRUE(watch.abandoned());
  EXPECT_EQ(first, 1);
  const CallWatch::Call late(&watch, [&] { ++second; });
  EXPECT_EQ(second, 1);
}

}  // namespace
}  // namespace plimsoll::pod
