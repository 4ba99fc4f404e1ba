#include "image/shared_pulls.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kSharedPatience = absl::Seconds(60);

Image WithId(const std::string& id) {
  Image image;
  image.record.id = id;
  return image;
}

SharedPulls::Caller PulledFor(const std::string& what) {
  SharedPulls::Caller caller;
  caller.key = {what};
  caller.what = "pull " + what;
  return caller;
}

// Pulls that end on a signal, or when they have no callers.
class SharedPullsTest : public ::testing::Test {
 protected:
  SharedPulls::Work Work(const std::string& id) {
    return [this, id](const std::function<bool()>& cancelled,
                      const ProgressFn& progress) -> absl::StatusOr<Image> {
      ++started_;
      progress({"under way", 1, 2});
      while (!let_.HasBeenNotified()) {
        if (cancelled()) {
          ++ended_early_;
          return absl::CancelledError("nobody wants it");
        }
        absl::SleepFor(absl::Milliseconds(1));
      }
      return WithId(id);
    };
  }
  // A caller in a thread of its own that has joined on return.
  std::thread Join(SharedPulls::Caller caller, absl::StatusOr<Image>* result) {
    const auto joined = std::make_shared<absl::Notification>();
    std::thread thread([this, caller, result, joined]() mutable {
      caller.progress = [joined](const Progress&) {
        if (!joined->HasBeenNotified()) joined->Notify();
      };
      *result = pulls_.Join(caller, Work("mine"));
    });
    EXPECT_TRUE(joined->WaitForNotificationWithTimeout(kSharedPatience));
    return thread;
  }

  std::atomic<int> started_ = 0;
  std::atomic<int> ended_early_ = 0;
  absl::Notification let_;
  SharedPulls pulls_;
};

TEST_F(SharedPullsTest, SeveralWaitForOne) {
  absl::StatusOr<Image> first, second;
  std::thread one = Join(PulledFor("a"), &first);
  std::thread two = Join(PulledFor("a"), &second);  // also gets earlier news
  let_.Notify();
  one.join();
  two.join();
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->record.id, "mine");
  EXPECT_EQ(second->record.id, "mine");
  EXPECT_EQ(started_, 1);
}

TEST_F(SharedPullsTest, AnotherKeyIsAnotherPull) {
  SharedPulls::Caller with_password = PulledFor("a");
  with_password.key.push_back("password");
  absl::StatusOr<Image> first, second;
  std::thread one = Join(PulledFor("a"), &first);
  std::thread two = Join(with_password, &second);
  let_.Notify();
  one.join();
  two.join();
  EXPECT_EQ(started_, 2);
}

TEST_F(SharedPullsTest, OneThatGivesUpStopsNobodyElse) {
  std::atomic<bool> cancel = false;
  SharedPulls::Caller fickle = PulledFor("a");
  fickle.cancelled = [&cancel] { return cancel.load(); };
  absl::StatusOr<Image> first, second;
  std::thread one = Join(fickle, &first);
  std::thread two = Join(PulledFor("a"), &second);
  cancel = true;
  one.join();
  EXPECT_TRUE(absl::IsCancelled(first.status())) << first.status();
  EXPECT_THAT(std::string(first.status().message()), HasSubstr("pull a: cancelled"));
  EXPECT_EQ(ended_early_, 0);
  let_.Notify();
  two.join();
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(started_, 1);
}

TEST_F(SharedPullsTest, TheLastThatGivesUpEndsIt) {
  std::atomic<bool> cancel = false;
  SharedPulls::Caller fickle = PulledFor("a");
  fickle.cancelled = [&cancel] { return cancel.load(); };
  absl::StatusOr<Image> first, second;
  std::thread one = Join(fickle, &first);
  std::thread two = Join(fickle, &second);
  cancel = true;
  one.join();
  two.join();
  EXPECT_TRUE(absl::IsCancelled(first.status()));
  EXPECT_TRUE(absl::IsCancelled(second.status()));
  EXPECT_EQ(ended_early_, 1) << "before the last of them was told";
  // A late caller doesn't get the ended pull.
  let_.Notify();
  EXPECT_TRUE(pulls_.Join(PulledFor("a"), Work("new")).ok());
  EXPECT_EQ(started_, 2);
}

TEST_F(SharedPullsTest, EachHasItsOwnDeadline) {
  SharedPulls::Caller hasty = PulledFor("a");
  hasty.timeout = absl::Milliseconds(1);
  hasty.deadline = MonotonicNow() + hasty.timeout;
  absl::StatusOr<Image> patient;
  std::thread one = Join(PulledFor("a"), &patient);
  const auto late = pulls_.Join(hasty, Work("other"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("pull a: not done after 1ms"));
  let_.Notify();
  one.join();
  EXPECT_TRUE(patient.ok()) << patient.status();
  EXPECT_EQ(ended_early_, 0);
}

TEST_F(SharedPullsTest, WhoHasGoneAlreadyStartsNothing) {
  SharedPulls::Caller gone = PulledFor("a");
  gone.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(pulls_.Join(gone, Work("x")).status()));
  EXPECT_EQ(started_, 0);
}

TEST_F(SharedPullsTest, AFailureIsEverybodysAndIsNotKept) {
  const auto fail = [](const std::function<bool()>&, const ProgressFn&) -> absl::StatusOr<Image> {
    return absl::UnavailableError("off");
  };
  EXPECT_TRUE(absl::IsUnavailable(pulls_.Join(PulledFor("a"), fail).status()));
  let_.Notify();
  EXPECT_TRUE(pulls_.Join(PulledFor("a"), Work("x")).ok());
}

TEST_F(SharedPullsTest, ProgressComesInOrder) {
  SharedPulls::Caller caller = PulledFor("a");
  std::vector<std::string> steps;
  caller.progress = [&steps](const Progress& progress) { steps.push_back(progress.step); };
  const auto image = pulls_.Join(
      caller,
      [](const std::function<bool()>&, const ProgressFn& progress) -> absl::StatusOr<Image> {
        for (const char* step : {"one", "two", "three"}) progress({step, 0, 0});
        return WithId("x");
      });
  ASSERT_TRUE(image.ok());
  EXPECT_THAT(steps, ElementsAre("one", "two", "three")) << "the last before the result";
}

}  // namespace
}  // namespace plimsoll::image
