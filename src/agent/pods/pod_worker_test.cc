// One pod's steps over a fake runtime, and the races that a real one seldom shows.
#include "agent/pods/pod_worker.h"

#include <gmock/gmock.h>

#include <thread>

#include "agent/pods/pod_host_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class PodWorkerTest : public PodsTest {
 protected:
  void Begin(const std::string& manifest) {
    manifest_ = manifest;
    record_ = Record("web", manifest);
    worker_ = WorkerOf(record_, manifest_);
  }
  // The next agent's worker.
  void BeginAnew() { worker_ = WorkerOf(worker_->record(), manifest_); }
  // A step in a thread of its own; joined at the scope's end.
  class Stepping {
   public:
    explicit Stepping(PodWorker& worker) : thread_([this, &worker] { next_ = worker.Step(); }) {}
    ~Stepping() {
      if (thread_.joinable()) thread_.join();
    }
    PodWorker::Next Join() {
      thread_.join();
      return next_;
    }

   private:
    PodWorker::Next next_;
    std::thread thread_;
  };

  std::string manifest_;
  PodRecord record_;
  std::unique_ptr<PodWorker> worker_;
};

TEST_F(PodWorkerTest, AStepStartsThePod) {
  Begin(OnePod("web"));
  EXPECT_FALSE(worker_->has_looked());
  const PodWorker::Next next = worker_->Step();
  EXPECT_FALSE(next.gone);
  EXPECT_EQ(next.pause, absl::InfiniteDuration());
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(Phase("web"), "Running");
  EXPECT_TRUE(worker_->has_looked());
}

TEST_F(PodWorkerTest, ADeletionDuringAStepIsTheNextStepsWork) {
  Begin(OnePod("web"));
  cri_.script().Hold("CreateContainer");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  // It doesn't wait for the step.
  ASSERT_TRUE(worker_->Delete(3).ok());
  cri_.script().Release("CreateContainer");
  EXPECT_FALSE(stepping.Join().gone);
  EXPECT_TRUE(worker_->Step().gone);
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
  EXPECT_THAT(*store_->Uids(), IsEmpty());
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 3 s"));
  EXPECT_TRUE(absl::IsNotFound(worker_->Delete(1))) << "it has gone";
}

TEST_F(PodWorkerTest, AShorterDeletionOvertakesTheStopUnderWay) {
  Begin(OnePod("web"));
  worker_->Step();
  ASSERT_TRUE(worker_->Delete(600).ok());
  cri_.script().Hold("StopContainer");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("StopContainer"));
  ASSERT_TRUE(worker_->Delete(900).ok());
  EXPECT_EQ(worker_->record().grace_s, 600) << "a longer one changes nothing";
  ASSERT_TRUE(worker_->Delete(1).ok());
  ASSERT_TRUE(cri_.script().AwaitHeld("StopContainer", 2));
  cri_.script().Release("StopContainer");
  EXPECT_TRUE(stepping.Join().gone);
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 600 s"));
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 1 s"));
}

// Its network is there still: only a stop takes it down.
TEST_F(PodWorkerTest, ASandboxThatDiedIsStoppedOnceByEachAgent) {
  Begin(OnePod("web"));
  worker_->Step();
  cri_.KillSandbox("s1");
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 1);
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 2);
  clock_.Advance(BackOff::kLongest);
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  BeginAnew();
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 2) << "it can't know of the first";
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, AStopThatFailsIsTriedAgainBeforeAnythingStarts) {
  Begin(OnePod("web"));
  worker_->Step();
  cri_.KillSandbox("s1");
  cri_.script().Fail("StopPodSandbox", grpc::StatusCode::INTERNAL, "the network is stuck");
  const PodWorker::Next next = worker_->Step();
  EXPECT_EQ(next.pause, BackOff::kFirst);
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 1);
  EXPECT_THAT(EventOf("web", "FailedSync"), HasSubstr("the network is stuck"));
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 2);
}

constexpr char kHook[] = "lifecycle: {postStart: {exec: {command: [hook]}}}, ";

TEST_F(PodWorkerTest, APostStartHookThatTheRuntimesDeathCutOffEndsNoContainer) {
  Begin(OnePod("web", "", kHook));
  cri_.script().Fail("ExecSync", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("ExecSync"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(EventOf("web", "FailedPostStartHook"), "");
}

TEST_F(PodWorkerTest, APostStartHookThatFailsEndsItsContainer) {
  Begin(OnePod("web", "terminationGracePeriodSeconds: 4, ", kHook));
  cri_.SetExecExitCode(2);
  worker_->Step();
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 4 s"));
  EXPECT_THAT(EventOf("web", "FailedPostStartHook"), HasSubstr("exit code 2"));
}

TEST_F(PodWorkerTest, ASandboxWhoseAnswerWasLostIsUsed) {
  Begin(OnePod("web"));
  cri_.script().LoseAnswer("RunPodSandbox");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_THAT(cri_.Running(), IsEmpty());
  worker_->Step();
  EXPECT_THAT(cri_.SandboxIds(), ElementsAre("s1"));
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(EventOf("web", "FailedCreatePodSandBox"), "");
}

// The connection broke, and the runtime makes the sandbox still: it is not in the list yet.
TEST_F(PodWorkerTest, ASandboxThatIsBeingMadeIsWaitedFor) {
  Begin(OnePod("web"));
  cri_.script().Fail("RunPodSandbox", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  cri_.script().Fail("RunPodSandbox", grpc::StatusCode::ALREADY_EXISTS, "the name is taken");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_EQ(EventOf("web", "FailedCreatePodSandBox"), "");
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, AContainerWhoseAnswerWasLostIsStartedAndNotMadeAgain) {
  Begin(OnePod("web"));
  cri_.script().LoseAnswer("CreateContainer");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("CreateContainer"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, ARuntimeThatIsAwayIsAskedAgainSoonWithoutAWord) {
  Begin(OnePod("web"));
  cri_.script().Fail("ListPodSandbox", grpc::StatusCode::UNAVAILABLE, "connection refused");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_FALSE(worker_->has_looked());
  EXPECT_EQ(EventOf("web", "FailedSync"), "");
}

TEST_F(PodWorkerTest, AnEndThatFailsHalfwayIsCarriedOutByTheNextAgent) {
  Begin(OnePod("web"));
  worker_->Step();
  ASSERT_TRUE(worker_->Delete(0).ok());
  cri_.script().Fail("RemovePodSandbox", grpc::StatusCode::INTERNAL, "busy");
  EXPECT_FALSE(worker_->Step().gone);
  EXPECT_THAT(cri_.Running(), IsEmpty());
  auto loaded = store_->Load();
  ASSERT_EQ(loaded->pods.size(), 1u);
  worker_ = WorkerOf(loaded->pods.front(), manifest_);
  EXPECT_TRUE(worker_->Step().gone);
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
