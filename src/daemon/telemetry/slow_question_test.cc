#include "daemon/telemetry/slow_question.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;

TEST(SlowQuestionTest, IsAskedEachTime) {
  absl::Status answer;
  SlowQuestion question(
      "nobody answers", [&answer] { return answer; }, absl::Seconds(30));
  EXPECT_TRUE(question.Ask().ok());
  answer = absl::NotFoundError("no file");
  EXPECT_EQ(question.Ask(), absl::NotFoundError("no file"));
  answer = absl::OkStatus();
  EXPECT_TRUE(question.Ask().ok());
}

TEST(SlowQuestionTest, IsNotWaitedForTooLongAndAskedOnce) {
  absl::Notification go_on;
  std::atomic<int> asked = 0;
  SlowQuestion question(
      "plugins have not answered",
      [&] {
        ++asked;
        go_on.WaitForNotification();
        return absl::OkStatus();
      },
      absl::Milliseconds(20));
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = question.Ask();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("plugins have not answered for "));
  }
  EXPECT_TRUE(WaitUntil([&] { return asked == 1; }));
  go_on.Notify();
  EXPECT_TRUE(WaitUntil([&] { return question.Ask().ok(); }));
}

TEST(SlowQuestionTest, EndsWithTheQuestionUnderWay) {
  absl::Notification go_on;
  std::atomic<bool> answered = false;
  std::thread later;
  {
    SlowQuestion question(
        "slow",
        [&] {
          go_on.WaitForNotification();
          answered = true;
          return absl::OkStatus();
        },
        absl::Milliseconds(1));
    EXPECT_FALSE(question.Ask().ok());
    later = std::thread([&] { go_on.Notify(); });
  }
  EXPECT_TRUE(answered);
  later.join();
}

}  // namespace
}  // namespace plimsoll::daemon
