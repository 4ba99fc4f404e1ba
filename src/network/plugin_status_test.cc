#include "network/plugin_status.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginStatusTest : public ::testing::Test {
 protected:
  // The verdict when plugins would answer so.
  absl::Status When(const absl::Status& answer, const std::string& config = "a") {
    return status_.Of(config, [&] {
      ++asked_;
      return answer;
    });
  }
  // Lets an answer grow old.
  void Wait(absl::Duration time = kStatusAge) { now_ += time; }

  const absl::Status failed_ = absl::UnavailableError("no addresses left");
  absl::Time now_ = absl::FromUnixSeconds(1000);
  int asked_ = 0;
  std::vector<std::string> told_;
  PluginStatus status_{[this] { return now_; },
                       [this](const std::string& text) { told_.push_back(text); }};
};

TEST_F(PluginStatusTest, AFailureAmongGoodAnswersChangesNothing) {
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  for (int i = 0; i < 5; ++i) {
    Wait();
    EXPECT_TRUE(When(failed_).ok());
    Wait();
    EXPECT_TRUE(When(absl::OkStatus()).ok());
  }
  EXPECT_EQ(asked_, 11);
}

TEST_F(PluginStatusTest, AfterTheGraceAFailureCountsUntilTheNextSuccess) {
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  Wait(absl::Hours(1));
  // The grace begins with the failure, not with the last success.
  EXPECT_TRUE(When(failed_).ok());
  Wait(kStatusGrace - absl::Milliseconds(1));
  EXPECT_TRUE(When(absl::DeadlineExceededError("hangs")).ok());
  Wait(absl::Milliseconds(1));
  EXPECT_EQ(When(failed_).message(), "hangs");  // the last answer, which is young
  Wait();
  EXPECT_EQ(When(failed_), failed_);
  Wait(absl::Hours(1));
  EXPECT_EQ(When(failed_), failed_);
  Wait();
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  Wait();
  EXPECT_TRUE(When(failed_).ok());
}

TEST_F(PluginStatusTest, WhoHasNeverServedHasNoGrace) {
  EXPECT_EQ(When(failed_), failed_);
  Wait();
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  // Another configuration's plugins.
  EXPECT_EQ(When(failed_, "b"), failed_);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PluginStatusTest, AnAnswerCountsForAWhile) {
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  Wait(kStatusAge - absl::Milliseconds(1));
  EXPECT_TRUE(When(failed_).ok());
  EXPECT_EQ(asked_, 1);
  Wait(absl::Milliseconds(1));
  EXPECT_TRUE(When(failed_).ok());
  EXPECT_EQ(asked_, 2);
}

TEST_F(PluginStatusTest, AFailureThatIsPassedOverIsToldOnce) {
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  for (int i = 0; i < 3; ++i) {
    Wait();
    EXPECT_TRUE(When(failed_).ok());
  }
  EXPECT_THAT(told_, ElementsAre(HasSubstr("no addresses left; the network counts as ready")));
  Wait();
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  Wait();
  EXPECT_TRUE(When(failed_).ok());
  EXPECT_EQ(told_.size(), 2u);
}

class BesideAQuestionTest : public PluginStatusTest {
 protected:
  // Asks for `config`, and calls `beside` meanwhile.
  void AskWhile(const std::string& config, const std::function<void()>& beside) {
    absl::Notification asking, go_on;
    std::thread asker([&] {
      const absl::Status verdict = status_.Of(config, [&] {
        asking.Notify();
        go_on.WaitForNotification();
        return absl::OkStatus();
      });
      EXPECT_TRUE(verdict.ok()) << verdict;
    });
    asking.WaitForNotification();
    beside();
    go_on.Notify();
    asker.join();
  }
};

TEST_F(BesideAQuestionTest, OthersGetTheLastAnswer) {
  AskWhile("a", [&] { EXPECT_TRUE(absl::IsUnavailable(When(absl::OkStatus()))); });
  Wait();
  AskWhile("a", [&] { EXPECT_TRUE(When(failed_).ok()); });
  EXPECT_EQ(asked_, 0);
}

TEST_F(BesideAQuestionTest, AnotherConfigurationMakesNoNodeUnready) {
  EXPECT_TRUE(When(absl::OkStatus()).ok());
  AskWhile("b", [&] { EXPECT_TRUE(When(failed_, "b").ok()); });
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(When(failed_, "b").ok());
}

}  // namespace
}  // namespace plimsoll::network
