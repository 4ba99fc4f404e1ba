#include "agent/pods/life/restarts.h"

#include <gmock/gmock.h>

#include <string>

#include "agent/pods/life/pod_host_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RestartsTest : public testing::Test {
 protected:
  RestartsTest() {
    record_.uid = "uid-web";
    record_.key = {"default", "web"};
  }
  // The container's run with this attempt, which has just ended.
  ObservedContainer Ended(uint32_t attempt, int exit_code = 1) const {
    ObservedContainer run;
    run.id = absl::StrCat("c", attempt);
    run.name = "main";
    run.attempt = attempt;
    run.state = ObservedState::kExited;
    run.started = clock_.Now() - absl::Seconds(1);
    run.finished = clock_.Now();
    run.exit_code = exit_code;
    return run;
  }
  // A start that succeeds.
  void Start(const ObservedContainer& last) {
    EXPECT_EQ(restarts_.BeforeStart(record_, container(), &last), absl::ZeroDuration());
    EXPECT_EQ(restarts_.AfterStart("main", clock_.Now(), std::nullopt), absl::InfiniteDuration());
  }
  // A start that fails. Returns the pause after it.
  absl::Duration FailToStart(const std::string& reason, const absl::Status& status) {
    EXPECT_EQ(restarts_.BeforeStart(record_, container(), nullptr), absl::ZeroDuration());
    return restarts_.AfterStart(
        "main", clock_.Now(),
        PodStarter::Failure{{reason, std::string(status.message()), ""}, status});
  }
  void Note(const ObservedContainer& last, const PodPlan& plan = {}) {
    ObservedPod observed;
    observed.containers = {last};
    restarts_.Note(record_, pod_, observed, plan);
  }
  const pod::ContainerManifest& container() const { return pod_.containers.front(); }
  std::string WaitingReason() const {
    const auto it = restarts_.waiting().find("main");
    return it == restarts_.waiting().end() ? "" : it->second.reason;
  }
  int Events(const std::string& reason) const {
    int count = 0;
    for (const nlohmann::json& each : events_.List(record_.key)) {
      if (each["reason"] == reason) count += each["count"].get<int>();
    }
    return count;
  }

  SetClock clock_;
  KubeEventLog events_{clock_, "node"};
  PodRecord record_;
  pod::Manifest pod_ = pod::ParseManifests(OnePod("web"), "test")->front();
  Restarts restarts_{clock_, events_};
};

TEST_F(RestartsTest, PausesGrowWithEachRestartAndTheFirstOneIsAtOnce) {
  const ObservedContainer first = Ended(0);
  EXPECT_EQ(restarts_.NotBefore(record_, first), first.finished);
  Start(first);
  clock_.Advance(absl::Seconds(1));
  const ObservedContainer second = Ended(1);
  EXPECT_EQ(restarts_.NotBefore(record_, second), second.finished + BackOff::kFirst);
  clock_.Advance(BackOff::kFirst);
  Start(second);
  const ObservedContainer third = Ended(2);
  EXPECT_EQ(restarts_.NotBefore(record_, third), third.finished + 2 * BackOff::kFirst);
}

TEST_F(RestartsTest, ARunThatEndedForAResizeMakesNoPause) {
  const ObservedContainer last = Ended(0, 143);
  record_.restarting["main"] = last.id;
  EXPECT_EQ(restarts_.NotBefore(record_, last), absl::InfinitePast());
  Start(last);
  const ObservedContainer next = Ended(1);
  EXPECT_EQ(restarts_.NotBefore(record_, next), next.finished) << "its first crash";
}

TEST_F(RestartsTest, AContainerThatWaitsIsShownAndToldOfOnce) {
  Start(Ended(0));
  clock_.Advance(absl::Seconds(1));
  const ObservedContainer last = Ended(1);
  Note(last);
  EXPECT_EQ(WaitingReason(), "CrashLoopBackOff");
  EXPECT_THAT(restarts_.waiting().at("main").message,
              HasSubstr("back-off 10s restarting failed container=main pod=web_default(uid-web)"));
  Note(last);
  EXPECT_EQ(Events("BackOff"), 1);
  PodPlan plan;
  plan.start = {0};
  Note(last, plan);
  EXPECT_EQ(WaitingReason(), "") << "it starts";
}

TEST_F(RestartsTest, NobodyWaitsInAPodThatHasEnded) {
  Start(Ended(0));
  clock_.Advance(absl::Seconds(1));
  PodPlan plan;
  plan.end = PodEnd::kFailed;
  Note(Ended(1), plan);
  EXPECT_THAT(restarts_.waiting(), IsEmpty());
  EXPECT_EQ(Events("BackOff"), 0);
}

TEST_F(RestartsTest, TheNextAgentGoesOnWithThePauses) {
  ObservedPod observed;
  observed.containers = {Ended(3), Ended(2)};
  restarts_.Recall(pod_, observed);
  const ObservedContainer last = Ended(3);
  EXPECT_EQ(restarts_.NotBefore(record_, last), last.finished + 4 * BackOff::kFirst);
  observed.containers = {Ended(9), Ended(8)};
  restarts_.Recall(pod_, observed);
  EXPECT_EQ(restarts_.NotBefore(record_, last), last.finished + 4 * BackOff::kFirst)
      << "it knows better by now";
}

TEST_F(RestartsTest, AFailedStartIsRetriedAfterAGrowingPause) {
  const absl::Status refused = absl::InternalError("no such device");
  EXPECT_EQ(FailToStart("CreateContainerError", refused), BackOff::kFirst);
  EXPECT_EQ(WaitingReason(), "CreateContainerError");
  clock_.Advance(absl::Seconds(4));
  EXPECT_EQ(restarts_.BeforeStart(record_, container(), nullptr),
            BackOff::kFirst - absl::Seconds(4));
  EXPECT_EQ(WaitingReason(), "CreateContainerError");
  clock_.Advance(BackOff::kFirst);
  EXPECT_EQ(FailToStart("CreateContainerError", refused), 2 * BackOff::kFirst);
  clock_.Advance(2 * BackOff::kFirst);
  Start(Ended(0));
  EXPECT_THAT(restarts_.waiting(), IsEmpty());
  EXPECT_EQ(FailToStart("CreateContainerError", refused), BackOff::kFirst) << "it starts over";
}

TEST_F(RestartsTest, APullThatFailedBecomesABackOffOfPulls) {
  // A registry may be away as a runtime is.
  EXPECT_EQ(FailToStart("ErrImagePull", absl::UnavailableError("no route")), BackOff::kFirst);
  EXPECT_EQ(restarts_.BeforeStart(record_, container(), nullptr), BackOff::kFirst);
  EXPECT_EQ(WaitingReason(), "ImagePullBackOff");
  const int told = Events("BackOff");
  EXPECT_EQ(told, 1);
  EXPECT_EQ(restarts_.BeforeStart(record_, container(), nullptr), BackOff::kFirst);
  EXPECT_EQ(Events("BackOff"), told);
}

TEST_F(RestartsTest, ARuntimeThatIsAwayIsAskedAgainSoonWithoutAWord) {
  EXPECT_EQ(FailToStart("CreateContainerError", absl::UnavailableError("away")), absl::Seconds(1));
  EXPECT_THAT(restarts_.waiting(), IsEmpty());
  EXPECT_EQ(restarts_.BeforeStart(record_, container(), nullptr), absl::ZeroDuration());
}

}  // namespace
}  // namespace plimsoll::agent
