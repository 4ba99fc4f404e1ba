#include "agent/pods/life/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(5000);

pod::Manifest ManifestOf(const std::string& restart_policy, const std::string& init = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {restartPolicy: ",
                   restart_policy, init.empty() ? "" : ", initContainers: [" + init + "]",
                   ", containers: [{name: a, image: i}, {name: b, image: i}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}
constexpr char kInit[] = "{name: init, image: i}";
constexpr char kSidecar[] = "{name: side, image: i, restartPolicy: Always}";

class PlanTest : public testing::Test {
 protected:
  void Sandbox(uint32_t attempt, bool ready) {
    observed_.sandboxes.insert(
        observed_.sandboxes.begin(),
        {.id = absl::StrCat("s", attempt), .attempt = attempt, .ready = ready, .ips = {}});
  }
  // In the newest sandbox.
  ObservedContainer& Container(const std::string& name, uint32_t attempt, ObservedState state,
                               int exit_code = 0) {
    ObservedContainer container;
    container.id = absl::StrCat(name, attempt);
    container.name = name;
    container.attempt = attempt;
    container.state = state;
    container.exit_code = exit_code;
    container.sandbox_id = observed_.sandboxes.front().id;
    return *observed_.containers.insert(observed_.containers.begin(), container);
  }
  PodPlan Plan(const pod::Manifest& pod) const {
    return PlanFor(
        pod, observed_, [this](const ObservedContainer&) { return due_; },
        [this](const ObservedContainer&) { return started_; }, kNow);
  }

  ObservedPod observed_;
  absl::Time due_ = kNow;
  bool started_ = true;
};

TEST_F(PlanTest, ANewPodGetsItsSandboxAndAllContainers) {
  const PodPlan plan = Plan(ManifestOf("Always"));
  EXPECT_EQ(plan.make_sandbox, 0u);
  EXPECT_THAT(plan.start, ElementsAre(0, 1));
  EXPECT_FALSE(plan.end.has_value());
}

TEST_F(PlanTest, ARunningPodNeedsNothing) {
  Sandbox(0, true);
  Container("a", 0, ObservedState::kRunning);
  Container("b", 0, ObservedState::kRunning);
  const PodPlan plan = Plan(ManifestOf("Always"));
  EXPECT_FALSE(plan.make_sandbox.has_value());
  EXPECT_THAT(plan.start, IsEmpty());
  EXPECT_EQ(plan.look_again, absl::InfiniteFuture());
}

TEST_F(PlanTest, AContainerThatAFailedProbeEndedHasFailedWhateverItsExitCode) {
  Sandbox(0, true);
  Container("b", 0, ObservedState::kRunning);
  Container("a", 0, ObservedState::kExited, 0);
  EXPECT_THAT(Plan(ManifestOf("OnFailure")).start, IsEmpty());
  observed_.containers.front().failed_probe = true;
  EXPECT_THAT(Plan(ManifestOf("OnFailure")).start, ElementsAre(0));
  EXPECT_THAT(Plan(ManifestOf("Never")).start, IsEmpty());
}

TEST_F(PlanTest, ContainersWaitForInitContainers) {
  const pod::Manifest pod = ManifestOf("Always", absl::StrCat(kInit, ", ", kSidecar));
  EXPECT_THAT(Plan(pod).start, ElementsAre(0));
  Sandbox(0, true);
  Container("init", 0, ObservedState::kRunning);
  EXPECT_THAT(Plan(pod).start, IsEmpty());
  observed_.containers.front().state = ObservedState::kExited;
  EXPECT_THAT(Plan(pod).start, ElementsAre(1));
  Container("side", 0, ObservedState::kRunning);
  started_ = false;
  EXPECT_THAT(Plan(pod).start, IsEmpty());
  started_ = true;
  EXPECT_THAT(Plan(pod).start, ElementsAre(2, 3));
}

TEST_F(PlanTest, AnInitContainerThatHasDoneItsWorkIsNotRunAgain) {
  const pod::Manifest pod = ManifestOf("Always", kInit);
  Sandbox(0, true);
  // The run's container may have been removed since.
  Container("a", 0, ObservedState::kRunning);
  EXPECT_THAT(Plan(pod).start, ElementsAre(2));
}

TEST_F(PlanTest, AFailedInitContainerIsRetriedAfterItsPause) {
  Sandbox(0, true);
  Container("init", 0, ObservedState::kExited, 1);
  due_ = kNow + absl::Seconds(10);
  const PodPlan waiting = Plan(ManifestOf("OnFailure", kInit));
  EXPECT_THAT(waiting.start, IsEmpty());
  EXPECT_EQ(waiting.look_again, due_);
  due_ = kNow;
  EXPECT_THAT(Plan(ManifestOf("OnFailure", kInit)).start, ElementsAre(0));
}

TEST_F(PlanTest, AFailedInitContainerEndsAPodThatNeverRestarts) {
  Sandbox(0, true);
  Container("init", 0, ObservedState::kExited, 1);
  const PodPlan plan = Plan(ManifestOf("Never", kInit));
  EXPECT_EQ(plan.end, PodEnd::kFailed);
  EXPECT_THAT(plan.start, IsEmpty());
  EXPECT_THAT(plan.stop_sandboxes, ElementsAre("s0"));
}

TEST_F(PlanTest, RestartPolicyDecidesWhatAnExitMeans) {
  Sandbox(0, true);
  Container("a", 0, ObservedState::kExited, 0);
  Container("b", 0, ObservedState::kExited, 3);
  EXPECT_THAT(Plan(ManifestOf("Always")).start, ElementsAre(0, 1));
  EXPECT_THAT(Plan(ManifestOf("OnFailure")).start, ElementsAre(1));
  const PodPlan never = Plan(ManifestOf("Never"));
  EXPECT_THAT(never.start, IsEmpty());
  EXPECT_EQ(never.end, PodEnd::kFailed);
}

TEST_F(PlanTest, TheEndStopsSidecarsWithTheSandbox) {
  const pod::Manifest pod = ManifestOf("OnFailure", kSidecar);
  Sandbox(0, true);
  Container("side", 0, ObservedState::kRunning);
  Container("a", 0, ObservedState::kExited, 0);
  Container("b", 0, ObservedState::kExited, 0);
  const PodPlan plan = Plan(pod);
  EXPECT_EQ(plan.end, PodEnd::kSucceeded);
  EXPECT_THAT(plan.stop_sandboxes, ElementsAre("s0"));
  // The same answer once it is stopped.
  observed_.sandboxes.front().ready = false;
  observed_.sandboxes.front().stopped = true;
  for (ObservedContainer& each : observed_.containers) each.state = ObservedState::kExited;
  EXPECT_EQ(Plan(pod).end, PodEnd::kSucceeded);
  EXPECT_THAT(Plan(pod).stop_sandboxes, IsEmpty());
}

TEST_F(PlanTest, ASidecarRestartsWhateverThePolicy) {
  const pod::Manifest pod = ManifestOf("Never", kSidecar);
  Sandbox(0, true);
  Container("side", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kRunning);
  Container("b", 0, ObservedState::kRunning);
  EXPECT_THAT(Plan(pod).start, ElementsAre(0));
}

TEST_F(PlanTest, ALostSandboxStartsThePodAnew) {
  const pod::Manifest pod = ManifestOf("Always", kInit);
  Sandbox(0, false);
  Container("init", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kExited, 137);
  Container("b", 0, ObservedState::kRunning);
  const PodPlan plan = Plan(pod);
  EXPECT_EQ(plan.make_sandbox, 1u);
  EXPECT_THAT(plan.stop_sandboxes, ElementsAre("s0"));
  EXPECT_THAT(plan.start, ElementsAre(0));
}

TEST_F(PlanTest, ASandboxThatDiedIsStoppedOnceForItsNetwork) {
  Sandbox(0, false);
  Container("a", 0, ObservedState::kExited, 137);
  Container("b", 0, ObservedState::kExited, 137);
  EXPECT_THAT(Plan(ManifestOf("Always")).stop_sandboxes, ElementsAre("s0"));
  EXPECT_THAT(Plan(ManifestOf("Never")).stop_sandboxes, ElementsAre("s0"));
  observed_.sandboxes.front().stopped = true;
  EXPECT_THAT(Plan(ManifestOf("Always")).stop_sandboxes, IsEmpty());
}

TEST_F(PlanTest, ALostSandboxEndsAPodThatNeverRestarts) {
  Sandbox(0, false);
  Container("a", 0, ObservedState::kExited, 0);
  Container("b", 0, ObservedState::kExited, 137);
  EXPECT_EQ(Plan(ManifestOf("Never")).end, PodEnd::kFailed);
}

TEST_F(PlanTest, ALostSandboxDoesNotRepeatDoneWork) {
  Sandbox(0, false);
  Container("a", 0, ObservedState::kExited, 0);
  Container("b", 0, ObservedState::kExited, 1);
  const PodPlan plan = Plan(ManifestOf("OnFailure"));
  EXPECT_EQ(plan.make_sandbox, 1u);
  EXPECT_THAT(plan.start, ElementsAre(1));
}

TEST_F(PlanTest, ASecondReadySandboxIsStopped) {
  Sandbox(0, true);
  Sandbox(1, true);
  Container("a", 1, ObservedState::kRunning);
  Container("b", 1, ObservedState::kRunning);
  EXPECT_THAT(Plan(ManifestOf("Always")).stop_sandboxes, ElementsAre("s0"));
}

TEST_F(PlanTest, ACreatedContainerIsStarted) {
  Sandbox(0, true);
  Container("a", 0, ObservedState::kCreated);
  Container("b", 0, ObservedState::kRunning);
  EXPECT_THAT(Plan(ManifestOf("Always")).start, ElementsAre(0));
}

TEST_F(PlanTest, ALostContainerCountsAsFailed) {
  Sandbox(0, true);
  Container("a", 0, ObservedState::kUnknown);
  Container("b", 0, ObservedState::kRunning);
  EXPECT_THAT(Plan(ManifestOf("OnFailure")).start, ElementsAre(0));
  EXPECT_THAT(Plan(ManifestOf("Never")).start, IsEmpty());
}

TEST_F(PlanTest, TheTwoNewestRunsOfAContainerStay) {
  Sandbox(0, false);
  Container("a", 0, ObservedState::kExited, 1);
  Sandbox(1, true);
  Container("a", 1, ObservedState::kExited, 1);
  Container("a", 2, ObservedState::kExited, 1);
  Container("a", 3, ObservedState::kRunning);
  Container("b", 0, ObservedState::kRunning);
  const PodPlan plan = Plan(ManifestOf("Always"));
  EXPECT_THAT(plan.remove_containers, ElementsAre("a1", "a0"));
  EXPECT_THAT(plan.remove_sandboxes, ElementsAre("s0"));
}

}  // namespace
}  // namespace plimsoll::agent
