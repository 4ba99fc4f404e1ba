// Containers whose program can't be executed. If the creation finds that, they are Created without
// a process, and their start fails; otherwise only the start finds it.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/process.h"
#include "qos/fake_type_for_test.h"
#include "runtime/engine_fixture_for_test.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kWhy[] = "container \"job\": command \"app\" is not in the image";

class EngineRefusedTest : public EngineTest {
 protected:
  void SetUp() override {
    MakeTypes();
    EngineTest::SetUp();
    pod_ = *engine_->RunSandbox(PodSpec(), "");
  }
  void MakeTypes() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(&rdt_, qos::FakeType::Options{.name = "rdt"}));
    classes_ = *qos::Registry::Create(std::move(types));
  }
  // Restarts like after a kill -9.
  void Restart() {
    engine_.reset();
    MakeTypes();
    StartEngine();
  }
  static ContainerSpec JobSpec() {
    ContainerSpec spec = Spec("job");
    spec.resources.cpu_shares = 100;
    spec.classes = {{"rdt", "bronze"}};  // a class with one place
    return spec;
  }
  std::string Refused() {
    runtime_.faults.FailNext("Refuse", absl::InternalError(kWhy));
    const auto id = engine_->CreateContainer(pod_, JobSpec(), "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  ContainerRecord Record(const std::string& id) {
    const auto record = engine_->GetContainer(id);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.value_or(ContainerRecord());
  }
  void ExpectStartError(const std::string& id) {
    const ContainerRecord record = Record(id);
    EXPECT_EQ(record.state, ContainerState::kExited);
    EXPECT_EQ(record.exit_code, 128);
    EXPECT_EQ(record.reason, "StartError");
    EXPECT_EQ(record.message, kWhy);
    EXPECT_EQ(record.started_unix_nanos, 0);
    EXPECT_GE(record.finished_unix_nanos, record.created_unix_nanos);
    EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
  }
  std::vector<EventType> EventsOf(const std::string& id) const {
    std::vector<EventType> types;
    for (const Event& event : events_.Since(0)) {
      if (event.container_id == id) types.push_back(event.type);
    }
    return types;
  }

  qos::FakeKernel rdt_;
  std::string pod_;
};

TEST_F(EngineRefusedTest, IsCreatedAndItsStartFailsWithTheReason) {
  const std::string id = Refused();
  EXPECT_EQ(Record(id).state, ContainerState::kCreated);
  EXPECT_TRUE(IsRefused(store_.LoadContainers()->front())) << "in its row before anybody is told";
  const absl::Status started = engine_->StartContainer(id);
  EXPECT_TRUE(absl::IsFailedPrecondition(started)) << started;
  EXPECT_EQ(started.message(), kWhy);
  ExpectStartError(id);
  EXPECT_EQ(store_.LoadContainers()->front(), Record(id));
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->StartContainer(id))) << "once";
  EXPECT_THAT(EventsOf(id), ElementsAre(EventType::kContainerCreated, EventType::kWarning,
                                        EventType::kContainerStopped));
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod_).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod_).ok());
  ExpectNothingLeft();
}

TEST_F(EngineRefusedTest, StaysCreatedOverRestartsOfDaemonAndMachine) {
  const std::string id = Refused();
  const ContainerRecord before = Record(id);
  Restart();
  EXPECT_EQ(Record(id), before);
  EXPECT_THAT(engine_->Inspect(), IsEmpty());
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());

  engine_.reset();
  ContainerRecord container = store_.LoadContainers()->front();
  container.boot_id = "another boot";
  ASSERT_TRUE(store_.PutContainer(container).ok());
  SandboxRecord sandbox = store_.LoadSandboxes()->front();
  sandbox.boot_id = "another boot";
  ASSERT_TRUE(store_.PutSandbox(sandbox).ok());
  MakeTypes();
  StartEngine();
  EXPECT_EQ(Record(id).state, ContainerState::kCreated);
  EXPECT_EQ(engine_->StartContainer(id).message(), kWhy);
  ExpectStartError(id);
  Restart();
  ExpectStartError(id);
}

TEST_F(EngineRefusedTest, StopAndRemovalEndItWithoutAStart) {
  const std::string stopped = Refused();
  Restart();
  EXPECT_TRUE(engine_->StopContainer(stopped, absl::Seconds(60)).ok());
  ExpectStartError(stopped);
  EXPECT_TRUE(engine_->StopContainer(stopped, absl::Seconds(60)).ok());
  Restart();
  ExpectStartError(stopped);
  ASSERT_TRUE(engine_->RemoveContainer(stopped).ok());

  const std::string removed = Refused();
  Restart();
  ASSERT_TRUE(engine_->RemoveContainer(removed).ok());
  EXPECT_TRUE(absl::IsNotFound(engine_->GetContainer(removed).status()));
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());

  const std::string of_pod = Refused();
  ASSERT_TRUE(engine_->StopSandbox(pod_).ok());
  ExpectStartError(of_pod);
}

TEST_F(EngineRefusedTest, AnUpdateIsOfItsRowAlone) {
  const std::string id = Refused();
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u) << "as it was asked for";
  cgroups_.on_apply = [] { ADD_FAILURE() << "there is no group to be written to"; };
  ASSERT_TRUE(
      engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}, .oom_score_adj = 7}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 200u);
  EXPECT_EQ(engine_->ReadResources(id)->oom_score_adj, 7);
  EXPECT_FALSE(engine_->ReadResources(id)->live);
  Restart();
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 200u);
  engine_->SetNodeShare({.cpus = *resources::CpuSet::Parse("0"),
                         .memory_nodes = *resources::CpuSet::Parse("0"),
                         .is_whole = false});
  EXPECT_EQ(engine_->StartContainer(id).message(), kWhy);
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 200u);
}

TEST_F(EngineRefusedTest, WhatNeedsAProcessSaysWhyThereIsNone) {
  const std::string id = Refused();
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    const absl::Status stats = engine_->readings().Stats(id).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(stats)) << stats;
    EXPECT_THAT(std::string(stats.message()), AllOf(HasSubstr("has no process"), HasSubstr(kWhy)));
    const absl::Status counters = engine_->readings().Counters(id).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(counters)) << counters;
    EXPECT_THAT(std::string(counters.message()),
                AllOf(HasSubstr("has no process"), HasSubstr(kWhy)));
    EXPECT_TRUE(
        absl::IsFailedPrecondition(engine_->commands().ExecSync(id, {.argv = {"true"}}).status()));
    EXPECT_TRUE(
        absl::IsFailedPrecondition(engine_->commands().StartExec(id, {.argv = {"true"}}).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(engine_->commands().Attach(id, false).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(engine_->commands().ReopenLog(id)));
    const absl::Status changed = engine_->UpdateResources(id, {.classes = {{"rdt", "gold"}}});
    EXPECT_TRUE(absl::IsFailedPrecondition(changed)) << changed;
    EXPECT_THAT(std::string(changed.message()), HasSubstr(kWhy));
  }
}

TEST_F(EngineRefusedTest, ItTakesNoPlaceInAClass) {
  const std::string id = Refused();
  EXPECT_THAT(rdt_.members, IsEmpty());
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze") << "as it was asked for";
  Restart();
  ContainerSpec other = JobSpec();
  other.name = "other";
  const auto made = engine_->CreateContainer(pod_, other, "");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(rdt_.members.size(), 1u);
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_EQ(rdt_.members.size(), 1u) << "the other's";
}

TEST_F(EngineRefusedTest, ACreationThatCannotBeSavedLeavesNothing) {
  store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("full"));
  runtime_.faults.FailNext("Refuse", absl::InternalError(kWhy));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->CreateContainer(pod_, JobSpec(), "").status()));
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  Refused();  // its name is free
}

// The container's init has executed nothing yet, like the OCI runtime's before the start.
class EngineStartErrorTest : public EngineRefusedTest {
 protected:
  ~EngineStartErrorTest() override { EndInit(); }

  std::string CreateWithInit() {
    // Without an exit signal, so that only a wait with __WALL reaps it.
    init_ = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
    while (init_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that it can't outlive an aborted test
      pause();
    }
    runtime_.init = *linux::IdentifyProcess(host_, init_);
    return *engine_->CreateContainer(pod_, JobSpec(), "");
  }
  void EndInit() {
    if (init_ <= 0) return;
    kill(init_, SIGKILL);
    waitpid(std::exchange(init_, 0), nullptr, __WALL);
  }
  // Ends the init, as the monitor reports a failed exec.
  void Fail(const std::string& id) {
    ExitRecord exit{.code = 1, .finished_unix_nanos = absl::GetCurrentTimeNanos()};
    exit.start_error = "exec format error";
    EndInit();
    runtime_.EndMonitor(id, exit);
  }
  void ExpectFailed(const ContainerRecord& record) {
    EXPECT_EQ(record.state, ContainerState::kExited);
    EXPECT_EQ(record.exit_code, 128);
    EXPECT_EQ(record.reason, "StartError");
    EXPECT_EQ(record.message, "container \"job\": exec format error");
  }

  pid_t init_ = 0;
};

TEST_F(EngineStartErrorTest, AProgramThatTheKernelRefusesFailsTheStart) {
  const std::string id = CreateWithInit();
  runtime_.on_start = [&] { Fail(id); };
  const absl::Status started = engine_->StartContainer(id);
  EXPECT_TRUE(absl::IsFailedPrecondition(started)) << started;
  EXPECT_EQ(started.message(), Record(id).message);
  ExpectFailed(Record(id));
  EXPECT_EQ(Record(id).started_unix_nanos, 0);
  EXPECT_THAT(EventsOf(id),
              ElementsAre(EventType::kContainerCreated, EventType::kContainerStopped));
}

// No client was told of a start.
TEST_F(EngineStartErrorTest, OneWhoseDaemonWasKilledMeanwhileHasNoStartTime) {
  const std::string id = CreateWithInit();
  engine_.reset();
  runtime_.SetStarted(id, 12345);
  Fail(id);
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return Record(id).state == ContainerState::kExited; }));
  ExpectFailed(Record(id));
  EXPECT_EQ(Record(id).started_unix_nanos, 0);
}

TEST_F(EngineStartErrorTest, OneThatABusyMachineRefusesAfterAWhileFailsTheStart) {
  const std::string id = CreateWithInit();
  std::thread late;
  runtime_.on_start = [&] {
    late = std::thread([&] {
      absl::SleepFor(absl::Milliseconds(500));
      Fail(id);
    });
  };
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->StartContainer(id)));
  late.join();
  ExpectFailed(Record(id));
  EXPECT_EQ(Record(id).started_unix_nanos, 0);
}

// The start has been reported by the time of the refusal.
TEST_F(EngineStartErrorTest, OneThatIsRefusedLaterStillIsToldByItsExit) {
  program_wait_ = absl::Milliseconds(100);
  Restart();
  const std::string id = CreateWithInit();
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_EQ(Record(id).state, ContainerState::kRunning);
  Fail(id);
  ExpectFailed(Wait(id));
  EXPECT_NE(Record(id).started_unix_nanos, 0);
  EXPECT_THAT(EventsOf(id), ElementsAre(EventType::kContainerCreated, EventType::kContainerStarted,
                                        EventType::kContainerStopped));
}

TEST_F(EngineStartErrorTest, OneThatIsRefusedAfterAKillIsFoundAtTheNextStart) {
  const std::string id = CreateWithInit();
  engine_.reset();  // between letting the process run and recording that
  Fail(id);
  MakeTypes();
  StartEngine();
  ExpectFailed(Wait(id));
  Restart();
  ExpectFailed(Record(id));
}

}  // namespace
}  // namespace plimsoll::runtime
