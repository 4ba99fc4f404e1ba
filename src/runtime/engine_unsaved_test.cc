// The engine when its store can't be written, above all on a full disk.
#include <algorithm>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine.h"
#include "runtime/engine_fixture_for_test.h"
#include "runtime/pod/pause.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using UnsavedTest = EngineTest;

// RecoveryTest.AStartThatWasNotWrittenDownIsFoundOut has the next daemon's reaction.
TEST_F(UnsavedTest, AStartThatAFullDiskCannotKeepIsOneAllTheSame) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  store_.faults.FailNext("PutContainer", absl::ResourceExhaustedError("no space"));
  EXPECT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_EQ(store_.LoadContainers()->front().state, ContainerState::kCreated);
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRunning);
  EXPECT_EQ(events_.Since(0).back().type, EventType::kWarning);
  EXPECT_THAT(events_.Since(0).back().message, HasSubstr("no space"));
  // The container's end can be recorded again.
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  Wait(id);
  EXPECT_EQ(store_.LoadContainers()->front().state, ContainerState::kExited);
}

// A failing disk is made read-only by its file system: running containers run on, ended ones stay
// ended.
TEST_F(UnsavedTest, AReadOnlyDiskKeepsNothingFromStartingAndEnding) {
  const absl::Status read_only = ErrnoStatus(EROFS, "database x");
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  store_.faults.FailNext("PutContainer", read_only);
  EXPECT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRunning);
  store_.faults.FailNext("PutSandbox", read_only);
  EXPECT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  ASSERT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady);
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

// After a kill on the way the next daemon relies on the mark alone: no namespace is missing yet.
TEST_F(UnsavedTest, AStopIsMarkedThoughTheRunDirectoryIsFull) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  {
    SetFaultHook([](absl::string_view verb, absl::string_view object) {
      if (verb == "create" && absl::EndsWith(object, "/stopped")) {
        return absl::ResourceExhaustedError("no space left on device");
      }
      return verb == "unmount" ? absl::InternalError("as far as that") : absl::OkStatus();
    });
    const absl::Cleanup no_faults = [] { SetFaultHook(nullptr); };
    store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
    EXPECT_THAT(engine_->StopSandbox(pod).message(), HasSubstr("as far as that"));
  }
  ASSERT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady);
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

// On a full disk only removals make room again.
TEST_F(UnsavedTest, WhatCannotBeMarkedIsRemovedAllTheSame) {
  const absl::Status full = absl::ResourceExhaustedError("no space");
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  Wait(id);
  store_.faults.FailNext("PutContainer", full);
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());

  // A daemon killed in between leaves a row without files.
  const std::string cut_off = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StopContainer(cut_off, absl::ZeroDuration()).ok());
  Wait(cut_off);
  engine_.reset();
  ASSERT_TRUE(runtime_.Delete(cut_off, store_.LoadContainers()->front().cgroup_path).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetContainer(cut_off)->state, ContainerState::kExited);
  EXPECT_TRUE(engine_->RemoveContainer(cut_off).ok());

  // A pod whose end can't be saved doesn't keep its containers' files either.
  ASSERT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
  store_.faults.FailNext("PutSandbox", full);
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(UnsavedTest, ARemovalThatAFullDiskCutsOffIsFinishedByTheNextStart) {
  const absl::Status full = absl::ResourceExhaustedError("no space");
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  Wait(id);
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  store_.faults.FailNext("PutContainer", full);
  store_.faults.FailNext("RemoveContainer", full);
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->RemoveContainer(id)));
  EXPECT_EQ(store_.LoadContainers()->front().state, ContainerState::kExited);
  StartEngine();
  EXPECT_TRUE(absl::IsNotFound(engine_->GetContainer(id).status()));
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());

  store_.faults.FailNext("PutSandbox", full);
  store_.faults.FailNext("RemoveSandbox", full);
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->RemoveSandbox(pod)));
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
  const std::vector<Finding> findings = engine_->Inspect();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].difference, Difference::kSandboxHalfRemoved);
  StartEngine();
  EXPECT_TRUE(absl::IsNotFound(engine_->GetSandbox(pod).status()));
  ExpectNothingLeft();
}

// The run directory is on the full disk too.
TEST_F(UnsavedTest, ARemovalThatCannotBeRecordedAnywhereHasNotBegun) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  {
    SetFaultHook([](absl::string_view verb, absl::string_view object) {
      return verb == "create" && absl::EndsWith(object, ".removal")
                 ? absl::ResourceExhaustedError("no space left on device")
                 : absl::OkStatus();
    });
    const absl::Cleanup no_faults = [] { SetFaultHook(nullptr); };
    store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
    EXPECT_TRUE(absl::IsResourceExhausted(engine_->RemoveSandbox(pod)));
  }
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_THAT(engine_->Inspect(), IsEmpty());
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(UnsavedTest, AnUpdateThatCannotBeSavedChangesNothing) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100}}).ok());
  const linux::ProcessId init = engine_->GetContainer(id)->init;
  const int score = *linux::ReadOomScoreAdj(host_, init);
  const ResourceUpdate update = {.cgroup = {.cpu_shares = 200},
                                 .oom_score_adj = std::min(1000, score + 7)};
  store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("no space"));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->UpdateResources(id, update)));
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
  EXPECT_EQ(engine_->ReadResources(id)->oom_score_adj, score);
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, 100u);
  // The group refuses its settings: score and row go back.
  cgroups_.faults.FailNext("Apply", absl::InvalidArgumentError("cpu.shares refused"));
  EXPECT_TRUE(absl::IsInvalidArgument(engine_->UpdateResources(id, update)));
  EXPECT_EQ(engine_->ReadResources(id)->oom_score_adj, score);
  EXPECT_EQ(store_.LoadContainers()->front().spec.resources.cpu_shares, 100u);
  // The row can't be restored either: the error says so.
  cgroups_.faults.FailNext("Apply", absl::InvalidArgumentError("cpu.shares refused"));
  cgroups_.on_apply = [&] {
    store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("no space"));
  };
  const absl::Status both = engine_->UpdateResources(id, update);
  cgroups_.on_apply = nullptr;
  EXPECT_THAT(both.message(), HasSubstr("cpu.shares refused; and not set back: no space"));
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(engine_->ReadResources(id)->oom_score_adj, update.oom_score_adj);
  EXPECT_EQ(store_.LoadContainers()->front().spec.resources.cpu_shares, 200u);
}

TEST_F(UnsavedTest, AStopThatCouldNotBeSavedIsSavedByTheNext) {
  const auto count = [&](EventType type) {
    const std::vector<Event> events = events_.Since(0);
    return std::count_if(events.begin(), events.end(),
                         [&](const Event& event) { return event.type == type; });
  };
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  for (int tries = 0; tries < 2; ++tries) {
    const auto warnings = count(EventType::kWarning);
    store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
    EXPECT_TRUE(engine_->StopSandbox(pod).ok()) << "nothing of it is left";
    EXPECT_EQ(count(EventType::kWarning), warnings + 1) << "its row is told of";
    EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady);
    EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  }
  store_.faults.FailNext("PutSandbox", absl::InternalError("disk I/O error"));
  EXPECT_TRUE(absl::IsInternal(engine_->StopSandbox(pod))) << "what is no full disk is told";
  EXPECT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
  EXPECT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_EQ(count(EventType::kSandboxStopped), 1);
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());

  const std::string other = *engine_->RunSandbox(SharedPid(), "");
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
  ASSERT_TRUE(EndPause(host_, engine_->GetSandbox(other)->pause, absl::InfiniteFuture()).ok());
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (engine_->GetSandbox(other)->state == SandboxState::kReady && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kNotReady);
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady);
  EXPECT_TRUE(engine_->StopSandbox(other).ok());
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
  EXPECT_EQ(count(EventType::kSandboxStopped), 2);
  ASSERT_TRUE(engine_->RemoveSandbox(other).ok());
  ExpectNothingLeft();
}

// Pods with and without namespaces whose absence would show.
TEST_F(UnsavedTest, AStopThatCouldNotBeSavedIsFoundByTheNextDaemon) {
  SandboxSpec of_the_node = PodSpec("of-the-node");
  of_the_node.namespaces.network = NamespaceMode::kNode;
  of_the_node.namespaces.ipc = NamespaceMode::kNode;
  of_the_node.namespaces.pid = NamespaceMode::kNode;
  for (const SandboxSpec& spec : {PodSpec(), SharedPid(), of_the_node}) {
    const std::string pod = *engine_->RunSandbox(spec, "");
    store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
    EXPECT_TRUE(engine_->StopSandbox(pod).ok()) << spec.name;
    ASSERT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady) << spec.name;
    StartEngine();
    EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady) << spec.name;
    EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady) << spec.name;
    EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty()) << spec.name;
    EXPECT_TRUE(engine_->RemoveSandbox(pod).ok()) << spec.name;
    ExpectNothingLeft();
  }
}

// Any error keeps the row from being written, in a stop or a removal.
TEST_F(UnsavedTest, AStopThatCouldNotBeSavedLeavesItsTraceWhateverTheError) {
  SandboxSpec of_the_node = PodSpec("of-the-node");
  of_the_node.namespaces.network = NamespaceMode::kNode;
  of_the_node.namespaces.ipc = NamespaceMode::kNode;
  of_the_node.namespaces.pid = NamespaceMode::kNode;
  const auto expect_stopped = [this](const std::string& pod) {
    ASSERT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kReady);
    StartEngine();
    EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
    EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
    EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
    ExpectNothingLeft();
  };
  const absl::Status broken = absl::InternalError("disk I/O error");
  std::string pod = *engine_->RunSandbox(of_the_node, "");
  store_.faults.FailNext("PutSandbox", broken);
  EXPECT_TRUE(absl::IsInternal(engine_->StopSandbox(pod)));
  expect_stopped(pod);

  pod = *engine_->RunSandbox(of_the_node, "");
  store_.faults.FailNext("PutSandbox", broken);
  EXPECT_TRUE(absl::IsInternal(engine_->RemoveSandbox(pod)));
  expect_stopped(pod);

  // A disk that stays full while its containers are removed.
  pod = *engine_->RunSandbox(of_the_node, "");
  ASSERT_TRUE(engine_->CreateContainer(pod, Spec(), "").ok());
  const absl::Status full = absl::ResourceExhaustedError("no space");
  store_.faults.FailNext("PutSandbox", full);
  const int listener = events_.Listen([&](const Event& event, const EventSubject&) {
    if (event.type == EventType::kContainerRemoved) store_.faults.FailNext("PutSandbox", full);
  });
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->RemoveSandbox(pod)));
  events_.Unlisten(listener);
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
  expect_stopped(pod);
}

}  // namespace
}  // namespace plimsoll::runtime
