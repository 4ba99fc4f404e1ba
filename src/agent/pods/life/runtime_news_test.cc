#include "agent/pods/life/runtime_news.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <vector>

#include "agent/pods/life/pod_host_for_test.h"
#include "base/wait_until_for_test.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

constexpr absl::Duration kMoment = absl::Milliseconds(2);
constexpr RuntimeNews::Pace kFast = {
    .without_events = kMoment, .with_events = absl::Hours(1), .open_stream = kMoment};

class RuntimeNewsTest : public PodsTest {
 protected:
  void Start(RuntimeNews::Pace pace) {
    RuntimeNews::Hooks hooks;
    hooks.changed = [this](const std::string& uid) {
      const absl::MutexLock lock(&mutex_);
      changed_.insert(uid);
    };
    hooks.answers = [this](const absl::Status& status) {
      const absl::MutexLock lock(&mutex_);
      answers_.push_back(status.ok());
    };
    hooks.unreadable = [this] { ++unreadable_; };
    news_ = std::make_unique<RuntimeNews>(OpenClient(), OpenClient(), pace, std::move(hooks));
  }
  bool HasChanged(const std::string& uid) {
    return WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return changed_.contains(uid);
    });
  }
  bool AwaitAnswers(const std::vector<bool>& expected) {
    return WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return answers_ == expected;
    });
  }
  int Lists() { return cri_.script().Count("ListPodSandbox"); }
  static ::runtime::v1::PodSandboxConfig SandboxOf(const std::string& uid) {
    ::runtime::v1::PodSandboxConfig config;
    (*config.mutable_labels())[pod::kPodUidLabel] = uid;
    return config;
  }

  absl::Mutex mutex_;
  std::set<std::string> changed_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> answers_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> unreadable_ = 0;
  std::unique_ptr<RuntimeNews> news_;  // last: its threads use the above
};

TEST_F(RuntimeNewsTest, WithoutAStreamListsFindWhatComesAndGoes) {
  Start(kFast);
  ASSERT_TRUE(AwaitAnswers({true}));
  const std::string id = cri_.AddSandbox(SandboxOf("a"));
  ASSERT_TRUE(HasChanged("a"));
  {
    const absl::MutexLock lock(&mutex_);
    changed_.clear();
  }
  cri_.KillSandbox(id);
  EXPECT_TRUE(HasChanged("a"));
}

// It lists until the stream counts as there, and once more for what came before.
TEST_F(RuntimeNewsTest, AQuietStreamIsNotListedEachMoment) {
  cri_.script().Hold("GetContainerEvents");
  Start(
      {.without_events = kMoment, .with_events = absl::Milliseconds(400), .open_stream = kMoment});
  ASSERT_TRUE(cri_.script().AwaitHeld("GetContainerEvents"));
  // Between some two lists lies the long pause.
  int last = Lists();
  absl::Time since = absl::Now();
  EXPECT_TRUE(WaitUntil([&] {
    if (const int now = Lists(); now != last) {
      last = now;
      since = absl::Now();
    }
    return absl::Now() - since > absl::Milliseconds(200);
  })) << "it was listed "
      << Lists() << " times without a pause";
}

// It may have missed something: a list follows at once.
TEST_F(RuntimeNewsTest, AStreamThatEndsIsFollowedByAList) {
  cri_.script().Hold("GetContainerEvents");
  Start(kFast);
  ASSERT_TRUE(cri_.script().AwaitHeld("GetContainerEvents"));
  cri_.AddSandbox(SandboxOf("a"));
  cri_.script().Release("GetContainerEvents");
  EXPECT_TRUE(HasChanged("a"));
}

TEST_F(RuntimeNewsTest, AnEventThatCannotBeDecodedIsToldOnceAndListsGoOn) {
  cri_.script().Fail("GetContainerEvents", grpc::StatusCode::DATA_LOSS, "not an event");
  Start(kFast);
  cri_.AddSandbox(SandboxOf("a"));
  EXPECT_TRUE(HasChanged("a"));
  EXPECT_TRUE(WaitUntil([&] { return cri_.script().Count("GetContainerEvents") >= 2; }))
      << "the stream is asked for again";
  EXPECT_EQ(unreadable_, 1);
}

TEST_F(RuntimeNewsTest, ALostAnswerIsToldAndSoIsItsReturn) {
  cri_.script().Fail("ListPodSandbox", grpc::StatusCode::UNAVAILABLE, "gone");
  Start(kFast);
  EXPECT_TRUE(AwaitAnswers({false, true}));
}

TEST_F(RuntimeNewsTest, ItsEndWaitsForNoCall) {
  cri_.script().Hold("GetContainerEvents");
  cri_.script().Hold("ListPodSandbox");
  Start(kFast);
  ASSERT_TRUE(cri_.script().AwaitHeld("ListPodSandbox"));
  news_.reset();
}

}  // namespace
}  // namespace plimsoll::agent
