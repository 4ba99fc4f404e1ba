#include "agent/probes/probe_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Result = ProbeOutcome::Result;

constexpr char kTcp[] = "tcpSocket: {port: 80}";

// A pod of one container, "web", at a clock that the test turns.
class ProbeTableTest : public testing::Test {
 protected:
  void SetUp() override { now_ = SteadyTime(std::chrono::hours(1000)); }

  void Manifest(const std::string& probes) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
                     "[{name: web, image: i, ",
                     probes, "}]}}"),
        "p");
    ASSERT_TRUE(pods.ok()) << pods.status();
    manifest_ = pods->front();
  }
  void Wait(int seconds) { now_ += std::chrono::seconds(seconds); }
  // The health of the container, run `id`; nothing is known of one that doesn't run.
  ContainerHealth Look(const std::string& id = "web0") {
    ProbedPod pod{.uid = "u",
                  .pod_namespace = "default",
                  .name = "p",
                  .address = "10.0.0.1",
                  .running = {},
                  .is_ending = is_ending_};
    if (!id.empty()) {
      pod.running.push_back(
          {.name = "web", .id = id, .age = absl::ZeroDuration(), .started = started_});
    }
    return table_.Sync(pod, manifest_, now_)[id];
  }
  // Runs all that is due with this result; their number.
  size_t Run(Result result) {
    const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
    for (const ProbeJob& each : jobs) last_ = table_.Finish(each, {result, ""}, now_);
    return jobs.size();
  }

  pod::Manifest manifest_;
  ProbeTable table_;
  SteadyTime now_;
  bool is_ending_ = false;
  bool started_ = false;
  ProbeTable::News last_;
};

TEST_F(ProbeTableTest, AContainerWithoutProbesIsReady) {
  Manifest("stdin: true");
  EXPECT_TRUE(Look().ready);
  EXPECT_TRUE(Look().started);
  EXPECT_EQ(table_.NextDue(), kNever);
}

TEST_F(ProbeTableTest, DelayAndPeriodAreCountedFromTheContainersStart) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp, ", initialDelaySeconds: 5, periodSeconds: 3}"));
  Look();
  Wait(4);
  EXPECT_THAT(table_.TakeDue(now_), IsEmpty());
  Wait(1);
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].address, "10.0.0.1");
  EXPECT_EQ(jobs[0].container_id, "web0");
  EXPECT_EQ(table_.NextDue(), kNever) << "it is under way";
  Wait(2);
  table_.Finish(jobs[0], {Result::kSuccess, ""}, now_);
  EXPECT_EQ(table_.NextDue(), now_ + std::chrono::seconds(1));
}

TEST_F(ProbeTableTest, ASlowProbeIsFollowedByTheNextAtOnce) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp, ", periodSeconds: 3}"));
  Look();
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  Wait(20);
  table_.Finish(jobs[0], {Result::kSuccess, ""}, now_);
  EXPECT_EQ(Run(Result::kSuccess), 1u);
  EXPECT_EQ(table_.NextDue(), now_ + std::chrono::seconds(3));
}

TEST_F(ProbeTableTest, ReadinessFollowsItsThresholds) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp,
                        ", periodSeconds: 1, successThreshold: 2, failureThreshold: 3}"));
  EXPECT_FALSE(Look().ready);
  Run(Result::kSuccess);
  EXPECT_FALSE(Look().ready);
  EXPECT_FALSE(last_.changed);
  Wait(1);
  Run(Result::kWarning);
  EXPECT_TRUE(last_.changed);
  EXPECT_TRUE(Look().ready);
  for (const Result result :
       {Result::kFailure, Result::kFailure, Result::kSuccess, Result::kFailure, Result::kFailure}) {
    Wait(1);
    Run(result);
    EXPECT_TRUE(Look().ready) << "three failures must follow one another";
  }
  Wait(1);
  Run(Result::kUnknown);
  EXPECT_TRUE(Look().ready) << "a probe that could not be run counts for nothing";
  Wait(1);
  Run(Result::kFailure);
  EXPECT_TRUE(last_.changed);
  EXPECT_FALSE(Look().ready);
  EXPECT_FALSE(Look().failed.has_value());
}

TEST_F(ProbeTableTest, LivenessFailsForGoodUntilTheContainersNextRun) {
  Manifest(absl::StrCat("livenessProbe: {", kTcp, ", periodSeconds: 1, failureThreshold: 2,",
                        " terminationGracePeriodSeconds: 7}"));
  Look();
  Run(Result::kFailure);
  EXPECT_FALSE(Look().failed.has_value());
  Wait(1);
  Run(Result::kFailure);
  EXPECT_TRUE(last_.changed);
  ASSERT_TRUE(Look().failed.has_value());
  EXPECT_EQ(Look().failed->kind, ProbeKind::kLiveness);
  EXPECT_EQ(Look().failed->grace_period_s, 7);
  Wait(9);
  EXPECT_EQ(Run(Result::kSuccess), 0u);
  Look("");  // its end
  EXPECT_FALSE(Look("web1").failed.has_value());
  EXPECT_EQ(Run(Result::kFailure), 1u);
  EXPECT_FALSE(Look("web1").failed.has_value());
}

TEST_F(ProbeTableTest, StartupHoldsUpTheOthers) {
  Manifest(absl::StrCat("startupProbe: {", kTcp, ", periodSeconds: 1}, livenessProbe: {", kTcp,
                        "}, readinessProbe: {", kTcp, "}"));
  EXPECT_FALSE(Look().started);
  EXPECT_EQ(Run(Result::kFailure), 1u);
  Wait(1);
  EXPECT_EQ(Run(Result::kSuccess), 1u);
  EXPECT_TRUE(last_.changed);
  EXPECT_TRUE(Look().started);
  EXPECT_FALSE(Look().ready);
  EXPECT_EQ(Run(Result::kSuccess), 2u) << "liveness and readiness begin at once";
  EXPECT_TRUE(Look().ready);
  Wait(10);
  EXPECT_EQ(Run(Result::kSuccess), 2u) << "the startup probe has done its work";
}

TEST_F(ProbeTableTest, AFailedStartupProbeEndsTheContainer) {
  Manifest(
      absl::StrCat("startupProbe: {", kTcp, ", failureThreshold: 1}, livenessProbe: {", kTcp, "}"));
  Look();
  Run(Result::kFailure);
  ASSERT_TRUE(Look().failed.has_value());
  EXPECT_EQ(Look().failed->kind, ProbeKind::kStartup);
  EXPECT_EQ(Look().failed->grace_period_s, std::nullopt);
  Wait(100);
  EXPECT_EQ(Run(Result::kSuccess), 0u);
}

TEST_F(ProbeTableTest, AContainerThatIsKnownToHaveStartedIsNotAskedAgain) {
  Manifest(absl::StrCat("startupProbe: {", kTcp, "}, readinessProbe: {", kTcp, "}"));
  started_ = true;
  EXPECT_TRUE(Look().started);
  EXPECT_FALSE(Look().ready);
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].kind, ProbeKind::kReadiness);
}

TEST_F(ProbeTableTest, OnlyReadinessIsProbedWhileThePodEnds) {
  Manifest(absl::StrCat("livenessProbe: {", kTcp, ", failureThreshold: 1}, readinessProbe: {", kTcp,
                        ", failureThreshold: 1}"));
  Look();
  EXPECT_EQ(Run(Result::kSuccess), 2u);
  is_ending_ = true;
  EXPECT_TRUE(Look().ready);
  Wait(10);
  EXPECT_EQ(Run(Result::kFailure), 1u);
  EXPECT_FALSE(Look().ready);
  EXPECT_FALSE(Look().failed.has_value());
}

TEST_F(ProbeTableTest, AnOutcomeForAnEarlierRunCountsForNothing) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp, "}"));
  Look();
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  EXPECT_FALSE(*jobs[0].given_up);
  Look("web1");
  EXPECT_TRUE(*jobs[0].given_up);
  EXPECT_FALSE(table_.Finish(jobs[0], {Result::kSuccess, ""}, now_).counts);
  EXPECT_FALSE(Look("web1").ready);
  EXPECT_EQ(Run(Result::kSuccess), 1u);
  EXPECT_TRUE(Look("web1").ready);
}

TEST_F(ProbeTableTest, AForgottenPodIsProbedNoMore) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp, "}"));
  Look();
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  table_.Forget("u");
  EXPECT_TRUE(*jobs[0].given_up);
  EXPECT_FALSE(table_.Finish(jobs[0], {Result::kSuccess, ""}, now_).counts);
  EXPECT_EQ(table_.NextDue(), kNever);
  EXPECT_THAT(table_.Counts(), IsEmpty());
}

TEST_F(ProbeTableTest, APostponedProbeCountsForNothing) {
  Manifest(absl::StrCat("readinessProbe: {", kTcp, "}"));
  Look();
  const std::vector<ProbeJob> jobs = table_.TakeDue(now_);
  table_.Postpone(jobs[0], now_ + std::chrono::seconds(2));
  EXPECT_EQ(table_.NextDue(), now_ + std::chrono::seconds(2));
  EXPECT_EQ(table_.Counts().front().successful, 0u);
}

TEST_F(ProbeTableTest, ResultsAreCountedBeyondRestarts) {
  Manifest(absl::StrCat("livenessProbe: {", kTcp, ", periodSeconds: 1}"));
  for (const char* id : {"web0", "web1"}) {
    Look(id);
    for (const Result result : {Result::kSuccess, Result::kFailure, Result::kUnknown}) {
      Run(result);
      Wait(1);
    }
  }
  ASSERT_THAT(table_.Counts(), SizeIs(1));
  const ProbeCount count = table_.Counts().front();
  EXPECT_EQ(count.successful, 2u);
  EXPECT_EQ(count.failed, 2u);
  EXPECT_EQ(count.unknown, 2u);
  EXPECT_EQ(count.container, "web");
}

TEST_F(ProbeTableTest, ContainersFoundAtTheStartAreNotAllProbedAtOnce) {
  Manifest(absl::StrCat("livenessProbe: {", kTcp, "}"));
  for (int i = 0; i < 50; ++i) {
    table_.Sync({.uid = absl::StrCat(i),
                 .pod_namespace = "default",
                 .name = "p",
                 .address = "10.0.0.1",
                 .running = {{.name = "web",
                              .id = absl::StrCat("id", i),
                              .age = absl::Minutes(5),
                              .started = false}},
                 .is_ending = false},
                manifest_, now_);
  }
  const size_t at_once = table_.TakeDue(now_).size();
  EXPECT_LT(at_once, 10u);
  Wait(1);
  EXPECT_EQ(at_once + table_.TakeDue(now_).size(), 50u);
}

}  // namespace
}  // namespace plimsoll::agent
