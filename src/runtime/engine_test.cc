// The engine's error paths, over stand-ins with injected failures.
#include "runtime/engine.h"

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_fixture_for_test.h"
#include "runtime/pod/pause.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(EngineTest, EachFailingStepOfASandboxLeavesNothing) {
  for (Faults* faults : {&store_.faults, &cgroups_.faults}) {
    faults->FailNext(faults == &store_.faults ? "PutSandbox" : "Create",
                     absl::ResourceExhaustedError("no space"));
    EXPECT_TRUE(absl::IsResourceExhausted(engine_->RunSandbox(PodSpec(), "").status()));
    ExpectNothingLeft();
  }
  SandboxSpec bad = PodSpec();
  bad.sysctls["kernel.panic"] = "1";
  EXPECT_TRUE(absl::IsInvalidArgument(engine_->RunSandbox(bad, "").status()));
  ExpectNothingLeft();
  EXPECT_TRUE(engine_->RunSandbox(PodSpec(), "").ok()) << "the retry works";
}

TEST_F(EngineTest, AUserNamespaceThatCannotBeHadIsRefusedBeforeAnythingIsMade) {
  SandboxSpec spec = PodSpec();
  spec.namespaces.uid_mappings = {{300000, 0, 65536}};
  spec.namespaces.gid_mappings = {{300000, 0, 65536}};
  runtime_.user_namespaces = absl::FailedPreconditionError("the file system can't");
  const absl::Status refused = engine_->RunSandbox(spec, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the file system can't"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(spec.name));
  ExpectNothingLeft();
  EXPECT_TRUE(engine_->RunSandbox(PodSpec(), "").ok()) << "others don't need one";
}

TEST_F(EngineTest, ASandboxReadiesTheKernelForItsContainers) {
  ASSERT_TRUE(engine_->RunSandbox(PodSpec(), "").ok());
  for (int i = 0; i < 1000 && cgroups_.moves_in_place == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_GT(cgroups_.moves_in_place, 0);
}

TEST_F(EngineTest, AFailedCreateLeavesNothingAndCanBeRetried) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  runtime_.faults.FailNext("Create", absl::InternalError("crun said no"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec(), "").ok());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  store_.faults.FailNext("PutContainer", absl::ResourceExhaustedError("no space"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec(), "").ok());
  // The row can't be written after the container has been made: it is unmade.
  store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("no space"));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->CreateContainer(pod, Spec(), "").status()));
  EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
}

TEST_F(EngineTest, VisitsShowWhatListsCopy) {
  SandboxSpec second = PodSpec();
  ++second.attempt;
  const std::vector<std::string> pods = {*engine_->RunSandbox(PodSpec(), "first"),
                                         *engine_->RunSandbox(second, "second")};
  ContainerSpec again = Spec();
  ++again.attempt;
  for (const std::string& pod : pods) {
    ASSERT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
    ASSERT_TRUE(engine_->CreateContainer(pod, again, "").ok());
  }
  std::vector<SandboxRecord> visited;
  engine_->VisitSandboxes([&](const SandboxRecord& record) { visited.push_back(record); });
  EXPECT_EQ(visited, engine_->ListSandboxes());
  EXPECT_THAT(visited, SizeIs(2));
  for (const std::string& pod : pods) {
    std::vector<ContainerRecord> own = engine_->ListContainers();
    std::erase_if(own, [&](const ContainerRecord& record) { return record.sandbox_id != pod; });
    EXPECT_THAT(own, SizeIs(2));
    EXPECT_EQ(engine_->ListContainersOf(pod), own);
  }
  EXPECT_THAT(engine_->ListContainersOf("none"), IsEmpty());
}

TEST_F(EngineTest, WhatASandboxsUndoCannotTakeAwayStaysItsOwn) {
  for (const bool restart : {false, true}) {
    cgroups_.faults.FailNext("AddProcess", absl::ResourceExhaustedError("no more"));
    cgroups_.faults.FailNext("KillAll", absl::DeadlineExceededError("survives SIGKILL"));
    EXPECT_TRUE(absl::IsResourceExhausted(engine_->RunSandbox(SharedPid(), "").status()));
    const std::vector<SandboxRecord> left = engine_->ListSandboxes();
    ASSERT_THAT(left, SizeIs(1));
    EXPECT_EQ(left[0].state, SandboxState::kRemoving);
    EXPECT_THAT(*store_.LoadSandboxes(), SizeIs(1));
    EXPECT_TRUE(*cgroups_.Exists(left[0].cgroup_path));
    EXPECT_EQ(events_.Since(0).back().type, EventType::kWarning);
    EXPECT_THAT(events_.Since(0).back().message, HasSubstr("survives SIGKILL"));
    if (restart) {
      StartEngine();
      EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
    } else {
      EXPECT_TRUE(engine_->StopSandbox(left[0].id).ok());
      EXPECT_TRUE(engine_->RemoveSandbox(left[0].id).ok());
    }
    ExpectNothingLeft();
  }
  // The pod's next sandbox has the name, and the remains removed.
  cgroups_.faults.FailNext("AddProcess", absl::ResourceExhaustedError("no more"));
  cgroups_.faults.FailNext("KillAll", absl::DeadlineExceededError("survives SIGKILL"));
  ASSERT_FALSE(engine_->RunSandbox(SharedPid(), "").ok());
  const auto retried = engine_->RunSandbox(SharedPid(), "");
  ASSERT_TRUE(retried.ok()) << retried.status();
  EXPECT_TRUE(WaitUntil([&] { return engine_->ListSandboxes().size() == 1; }));
  EXPECT_TRUE(engine_->RemoveSandbox(*retried).ok());
  ExpectNothingLeft();
}

TEST_F(EngineTest, WhatAContainersUndoCannotTakeAwayStaysItsOwn) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  for (const bool restart : {false, true}) {
    store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("no space"));
    runtime_.faults.FailNext("Delete", absl::DeadlineExceededError("survives SIGKILL"));
    EXPECT_TRUE(absl::IsResourceExhausted(engine_->CreateContainer(pod, Spec(), "").status()));
    const std::vector<ContainerRecord> left = engine_->ListContainers();
    ASSERT_THAT(left, SizeIs(1));
    EXPECT_EQ(left[0].state, ContainerState::kRemoving);
    EXPECT_THAT(*store_.LoadContainers(), SizeIs(1));
    EXPECT_TRUE(runtime_.has_traces(left[0].id));
    const auto next = engine_->CreateContainer(pod, Spec(), "");
    ASSERT_TRUE(next.ok()) << "they hold no name: " << next.status();
    EXPECT_TRUE(engine_->RemoveContainer(*next).ok());
    if (restart) {
      StartEngine();
      EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
    } else {
      EXPECT_TRUE(engine_->RemoveContainer(left[0].id).ok());
    }
    EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
    EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  }
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(EngineTest, WhatCannotBeWatchedIsNotCreated) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  runtime_.faults.FailNext("Monitor", absl::InternalError("gone"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec(), "").ok());
  EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
}

TEST_F(EngineTest, AFailedStartIsAnExitWithItsReason) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  runtime_.faults.FailNext("Start", absl::InternalError("exec failed"));
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  const ContainerRecord record = *engine_->GetContainer(id);
  EXPECT_EQ(record.state, ContainerState::kExited);
  EXPECT_EQ(record.exit_code, 128);
  EXPECT_EQ(record.reason, "StartError");
  EXPECT_EQ(record.message, "exec failed");
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
}

// The monitor has recorded the end of an init that the start finds gone.
TEST_F(EngineTest, AStartThatFailsAfterItsMonitorsRecordIsOneFailedStart) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  const int64_t ended = absl::GetCurrentTimeNanos() + absl::ToInt64Nanoseconds(absl::Hours(1));
  runtime_.on_start = [&] {
    runtime_.EndMonitor(id, ExitRecord{137, ended});
    Wait(id);
  };
  runtime_.faults.FailNext("Start", absl::InternalError("init has gone"));
  EXPECT_EQ(engine_->StartContainer(id).message(), "init has gone");
  const ContainerRecord record = *engine_->GetContainer(id);
  EXPECT_EQ(record.state, ContainerState::kExited);
  EXPECT_EQ(record.exit_code, 128);
  EXPECT_EQ(record.reason, "StartError");
  EXPECT_EQ(record.message, "init has gone");
  EXPECT_EQ(record.started_unix_nanos, 0);
  EXPECT_EQ(record.finished_unix_nanos, ended) << "as the monitor has it";
  EXPECT_EQ(store_.LoadContainers()->front(), record);
  std::vector<EventType> told;
  for (const Event& event : events_.Since(0)) {
    if (event.container_id == id) told.push_back(event.type);
  }
  EXPECT_THAT(told, ElementsAre(EventType::kContainerCreated, EventType::kContainerStopped));
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
}

TEST_F(EngineTest, ALateExitBringsNothingBackThatWasRemoved) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  absl::Notification exit_noticed;
  absl::Notification removed;
  runtime_.on_read_exit = [&] {
    exit_noticed.Notify();
    removed.WaitForNotification();
  };
  runtime_.faults.FailNext("Start", absl::InternalError("exec failed"));
  EXPECT_FALSE(engine_->StartContainer(id).ok());  // kills the container, which the watcher notices
  exit_noticed.WaitForNotification();
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
  removed.Notify();
  engine_.reset();  // ends once the watcher is done
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  std::vector<EventType> types;
  for (const Event& event : events_.Since(0)) {
    if (event.container_id == id) types.push_back(event.type);
  }
  EXPECT_THAT(types, ElementsAre(EventType::kContainerCreated, EventType::kContainerStopped,
                                 EventType::kContainerRemoved));
}

TEST_F(EngineTest, WhatCannotBeKilledHoldsUpNoOtherExit) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string stuck = *engine_->CreateContainer(pod, Spec("stuck"), "");
  const std::string other = *engine_->CreateContainer(pod, Spec("other"), "");
  absl::Notification enough;
  cgroups_.on_kill = [&](absl::string_view path, absl::Time deadline) -> absl::Status {
    if (!absl::EndsWith(path, stuck)) return absl::OkStatus();
    if (deadline > absl::Now() + absl::Seconds(1)) enough.WaitForNotification();
    return absl::DeadlineExceededError("still there");
  };
  ASSERT_TRUE(engine_->StartContainer(stuck).ok());
  ASSERT_TRUE(engine_->StartContainer(other).ok());
  runtime_.EndMonitor(stuck, std::nullopt);
  EXPECT_EQ(Wait(stuck).exit_code, 255);
  runtime_.EndMonitor(other, ExitRecord{3, 1});
  EXPECT_EQ(Wait(other).exit_code, 3);
  enough.Notify();
  engine_.reset();
}

TEST_F(EngineTest, TheMonitorsRecordIsTheExit) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const int64_t finished = absl::ToUnixNanos(absl::Now() + absl::Seconds(1));
  runtime_.EndMonitor(id, ExitRecord{3, finished});
  const ContainerRecord record = Wait(id);
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_EQ(record.finished_unix_nanos, finished);
  EXPECT_EQ(record.reason, "Error");
  EXPECT_EQ(store_.LoadContainers()->front().exit_code, 3);
}

TEST_F(EngineTest, AnExitIsNeverBeforeItsStart) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  const ContainerRecord record = Wait(id);
  EXPECT_EQ(record.finished_unix_nanos, record.started_unix_nanos);
}

TEST_F(EngineTest, OomKillIsTheReasonOnlyOfAFailure) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  cgroups_.oom_kills = 1;
  const std::string killed = *engine_->CreateContainer(pod, Spec("killed"), "");
  runtime_.EndMonitor(killed, ExitRecord{137, 1});
  EXPECT_EQ(Wait(killed).reason, "OOMKilled");
  const std::string survivor = *engine_->CreateContainer(pod, Spec("survivor"), "");
  runtime_.EndMonitor(survivor, ExitRecord{0, 1});
  EXPECT_EQ(Wait(survivor).reason, "Completed");
  EXPECT_TRUE(Wait(survivor).oom_killed);
}

TEST_F(EngineTest, AMonitorWithoutARecordIsUnknown255) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.EndMonitor(id, std::nullopt);
  const ContainerRecord record = Wait(id);
  EXPECT_EQ(record.exit_code, 255);
  EXPECT_EQ(record.reason, "Unknown");
  EXPECT_THAT(record.message, HasSubstr("monitor"));
}

TEST_F(EngineTest, AFailedRemovalCanBeRepeated) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  runtime_.faults.FailNext("Delete", absl::InternalError("busy"));
  EXPECT_FALSE(engine_->RemoveContainer(id).ok());
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRemoving);
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_TRUE(absl::IsNotFound(engine_->GetContainer(id).status()));
}

TEST_F(EngineTest, AnUpdateThatFailsIsUndone) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100}}).ok());
  cgroups_.faults.FailNext("Apply", absl::InvalidArgumentError("cpuset.cpus refused"));
  EXPECT_FALSE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
  // Out of range: the kernel refuses the score, the group's values go back.
  EXPECT_FALSE(
      engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 300}, .oom_score_adj = 5000}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, 100u);
  EXPECT_EQ(store_.LoadContainers()->front().spec.resources.cpu_shares, 100u);
  EXPECT_EQ(store_.LoadContainers()->front().spec.oom_score_adj, 0);
}

TEST_F(EngineTest, AnUpdateOfWhatHasJustEndedIsRefused) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  absl::Notification tried;
  runtime_.on_read_exit = [&] { tried.WaitForNotification(); };  // the end is not on record yet
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  const pid_t init = engine_->GetContainer(id)->init.pid;
  while (linux::IdentifyProcess(host_, init).ok() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  const absl::Status updated = engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}});
  tried.Notify();
  EXPECT_TRUE(absl::IsFailedPrecondition(updated)) << updated;
  EXPECT_THAT(updated.message(), HasSubstr("just ended"));
  Wait(id);
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, std::nullopt);
}

TEST_F(EngineTest, SharesAreGivenBackAsAskedWhileTheirWeightHolds) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 512}}).ok());
  // A cgroup v2 kernel turns it into weight 20, which begins at 501.
  ASSERT_TRUE(cgroups_.Apply("", {.cpu_shares = 501}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 512u);
  // Another process gave it another weight.
  ASSERT_TRUE(cgroups_.Apply("", {.cpu_shares = 474}).ok());
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 474u);
}

TEST_F(EngineTest, RemovingASandboxRemovesItsContainers) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  ASSERT_TRUE(engine_->CreateContainer(pod, Spec("a"), "").ok());
  ASSERT_TRUE(engine_->CreateContainer(pod, Spec("b"), "").ok());
  // The fake's KillAll does nothing: the inits are killed as processes of their own.
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(EngineTest, ASharedPidNamespaceGoesWithItsSandbox) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  const linux::ProcessId pause = engine_->GetSandbox(pod)->pause;
  EXPECT_TRUE(*linux::IsRunning(host_, pause));
  EXPECT_TRUE(*cgroups_.Exists(absl::StrCat("/plimsoll/", pod, "/pause-", pod)));
  EXPECT_TRUE(run_.Exists("sandboxes/" + pod + "/pid"));
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kReady);
  EXPECT_TRUE(*linux::IsRunning(host_, pause));
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_FALSE(*linux::IsRunning(host_, pause));
  EXPECT_FALSE(run_.Exists("sandboxes/" + pod + "/pid"));
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
  for (const Event& event : events_.Since(0)) EXPECT_NE(event.type, EventType::kWarning);
}

TEST_F(EngineTest, ASharedPidNamespaceThatFailsLeavesNothing) {
  for (const char* step : {"AddProcess", "Create"}) {
    cgroups_.faults.FailNext(step, absl::ResourceExhaustedError("no more"));
    EXPECT_TRUE(absl::IsResourceExhausted(engine_->RunSandbox(SharedPid(), "").status()));
    ExpectNothingLeft();
  }
  pause_program_ = "/nowhere/plimsoll-pause";
  StartEngine();
  const absl::Status missing = engine_->RunSandbox(SharedPid(), "").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("/nowhere/plimsoll-pause"));
  ExpectNothingLeft();
}

// This holds even if another call finds and removes the sandbox at once.
TEST_F(EngineTest, ASandboxesStartIsToldBeforeItsEnd) {
  absl::Mutex mutex;
  std::map<std::string, std::vector<EventType>> told;
  std::vector<SandboxState> started;
  const int listener = events_.Listen([&](const Event& event, const EventSubject& subject) {
    absl::MutexLock lock(&mutex);
    if (subject.sandbox == nullptr) return;
    told[event.sandbox_id].push_back(event.type);
    if (event.type == EventType::kSandboxStarted) started.push_back(subject.sandbox->state);
  });
  std::atomic<bool> done = false;
  std::thread remover([&] {
    while (!done) {
      for (const SandboxRecord& record : engine_->ListSandboxes()) {
        EXPECT_TRUE(engine_->RemoveSandbox(record.id).ok());
      }
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(engine_->RunSandbox(PodSpec(absl::StrCat("pod", i)), "").ok());
  }
  while (!engine_->ListSandboxes().empty()) absl::SleepFor(absl::Milliseconds(1));
  done = true;
  remover.join();
  events_.Unlisten(listener);
  EXPECT_EQ(told.size(), 50u);
  for (const auto& [id, types] : told) {
    EXPECT_THAT(types, ElementsAre(EventType::kSandboxStarted, EventType::kSandboxStopped,
                                   EventType::kSandboxRemoved));
  }
  EXPECT_THAT(started, ::testing::Each(SandboxState::kReady));
}

TEST_F(EngineTest, WithoutTheInitOfItsPidNamespaceASandboxIsNotReady) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  ASSERT_TRUE(EndPause(host_, engine_->GetSandbox(pod)->pause, absl::InfiniteFuture()).ok());
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (engine_->GetSandbox(pod)->state == SandboxState::kReady && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->CreateContainer(pod, Spec(), "").status()));
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());

  const std::string other = *engine_->RunSandbox(SharedPid(), "");
  const linux::ProcessId pause = engine_->GetSandbox(other)->pause;
  engine_.reset();
  ASSERT_TRUE(EndPause(host_, pause, absl::InfiniteFuture()).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kNotReady) << "found at the start";
  ASSERT_TRUE(engine_->RemoveSandbox(other).ok());
  ExpectNothingLeft();
}

// A file of the container is missing: that doesn't mean that another call removed the container.
TEST_F(EngineTest, WhatAContainerLacksKeepsItsPod) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  runtime_.faults.FailNext("Delete", absl::NotFoundError("its bundle"));
  EXPECT_TRUE(absl::IsNotFound(engine_->RemoveSandbox(pod)));
  EXPECT_TRUE(engine_->GetContainer(id).ok());
  EXPECT_TRUE(engine_->GetSandbox(pod).ok());
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_TRUE(absl::IsNotFound(engine_->GetContainer(id).status()));
}

TEST_F(EngineTest, APidNamespaceToShareMustBeThere) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  ContainerSpec spec = Spec();
  spec.security.namespaces.pid = NamespaceMode::kPod;
  const absl::Status refused = engine_->CreateContainer(pod, spec, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("make the sandbox with pid POD"));
}

TEST_F(EngineTest, EachPartOfAStartIsTimed) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_THAT(phases_, ElementsAre("sandbox_cgroup", "sandbox_namespaces", "sandbox_pid_namespace",
                                   "container_image", "container_create", "container_classes",
                                   "container_start"));
  runtime_.faults.FailNext("Create", absl::InternalError("no"));
  phases_.clear();
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec("b"), "").ok());
  EXPECT_THAT(phases_, ElementsAre("container_image"));
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
}

TEST_F(EngineTest, EventsTellTheStory) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::vector<Event> events = events_.Since(0);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].type, EventType::kSandboxStarted);
  EXPECT_EQ(events[1].type, EventType::kContainerCreated);
  EXPECT_EQ(events[2].container_id, id);
}

}  // namespace
}  // namespace plimsoll::runtime
