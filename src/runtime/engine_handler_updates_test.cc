// The update command of runtime handlers, over stand-ins: its calls, its ends, and the return to
// the old values.
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_handlers_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using EngineHandlerUpdatesTest = EngineHandlersTest;

TEST_F(EngineHandlerUpdatesTest, TheHandlerIsToldBeforeAnUpdate) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, To("3500m", "1Gi")).ok());
  std::string told = Told();
  EXPECT_THAT(told, HasSubstr(absl::StrCat(R"({"id":")", pod, R"(","name":"pod")")));
  EXPECT_THAT(told, HasSubstr(R"("size":{"vcpus":4,"memory_bytes":1610612736)"));
  EXPECT_THAT(told, HasSubstr(R"("picture":"complete","total":)"));
  EXPECT_THAT(*run_.List("sandboxes/" + pod), Not(::testing::Contains("wanted-resources.json")));
  // The later word holds, for container and pod alike.
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("1", "2Gi")}).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":2,"memory_bytes":2684354560)"));
  ASSERT_TRUE(engine_->UpdateResources(id, To("2500m", "1Gi")).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":3,"memory_bytes":1610612736)"));
}

TEST_F(EngineHandlerUpdatesTest, TheHandlerIsToldTheAnnotationsOfThePodsLastUpdate) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {}).ok());
  EXPECT_THAT(Told(), Not(HasSubstr("annotations")));
  SandboxUpdate update;
  update.annotations = {{"example.com/option", "fast"}};
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("annotations":{"example.com/option":"fast"})"));
}

TEST_F(EngineHandlerUpdatesTest, WhatTheHandlerRefusesIsNotDone) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ExitWith(3);
  ResourceUpdate update = To("2", "1Gi");
  update.cgroup.memory_limit_bytes = 1 << 30;
  const absl::Status refused = engine_->UpdateResources(id, update);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("the update command of runtime handler vm"));
  const ContainerRecord record = *engine_->GetContainer(id);
  EXPECT_EQ(record.spec.kubernetes_resources, Web().kubernetes_resources);
  EXPECT_EQ(record.spec.resources, linux::CgroupSettings());
  EXPECT_FALSE(cgroups_.Read(record.cgroup_path)->memory_limit_bytes.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("9", "9Gi")})));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.pod_resources, Announcing("1", "1Gi"));
}

TEST_F(EngineHandlerUpdatesTest, AnUpdateThatFailsAfterwardsIsTakenBack) {
  SetUpdateCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update = To("2500m", "1Gi");
  update.cgroup.memory_limit_bytes = 1 << 30;
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("memory.max: no"));
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  const std::string told = Told();
  const size_t first = told.find(R"("vcpus":3)");
  EXPECT_NE(first, std::string::npos) << told;
  EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
}

// The command may have acted before it failed or was killed.
TEST_F(EngineHandlerUpdatesTest, AnUpdateCommandThatFailsIsToldBack) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const auto expect_told_back = [&] {
    const std::string told = Told();
    const size_t first = told.find(R"("vcpus":4)");
    EXPECT_NE(first, std::string::npos) << told;
    EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
  };
  ExitWith(3);
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(id, To("3500m", "1Gi"))));
  expect_told_back();
  PodResources wanted = Announcing("1", "1Gi");
  wanted.containers[1].kubernetes_resources.limits["cpu"] = "3";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(engine_->UpdateSandboxResources(pod, {.pod_resources = wanted})));
  expect_told_back();
  // Only the first call is slow.
  const std::string script =
      absl::StrCat("#!/bin/sh\ncat \"$2\" >> ", dir_.path(), "/told\n[ -e ", dir_.path(),
                   "/slow ] || exit 0\nrm ", dir_.path(), "/slow\nexec sleep 300\n");
  ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
  handlers_["vm"].update_timeout_seconds = 3;
  const absl::Status late = engine_->UpdateResources(id, To("3500m", "1Gi"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  expect_told_back();
}

TEST_F(EngineHandlerUpdatesTest, AnUpdateCommandThatIsNotThereIsCalledOnce) {
  SetUpdateCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(dir_.root().RemoveFile("resize").ok());
  const absl::Status refused = engine_->UpdateResources(id, To("2", "1Gi"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  for (const Event& event : events_.Since(0)) EXPECT_NE(event.type, EventType::kWarning);
}

// A command may take ten minutes; it also waits for another's turn.
TEST_F(EngineHandlerUpdatesTest, AStopDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string web = Create(pod, Web());
  const std::string job = Create(pod, EngineTest::Spec("job"));
  ASSERT_TRUE(engine_->StartContainer(web).ok());
  ASSERT_TRUE(engine_->StartContainer(job).ok());
  const absl::Status cancelled = Slowly(
      [&] { return engine_->UpdateResources(web, To("3500m", "1Gi")); },
      [&] {
        // It waits for its turn, unless the stop has been quicker.
        absl::Status waited;
        std::thread waiting([&] { waited = engine_->UpdateResources(job, To("2500m", "1Gi")); });
        EXPECT_TRUE(engine_->StopContainer(job, absl::ZeroDuration()).ok());
        waiting.join();
        EXPECT_TRUE(absl::IsFailedPrecondition(waited)) << waited;
        EXPECT_TRUE(engine_->StopContainer(web, absl::ZeroDuration()).ok());
      });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
  EXPECT_THAT(cancelled.message(), HasSubstr("is being stopped or removed"));
  EXPECT_EQ(engine_->GetContainer(web)->spec.kubernetes_resources, Web().kubernetes_resources);
  // The pod goes on, so its machine gets the values that hold.
  const std::string told = Told();
  const size_t first = told.find(R"("vcpus":4)");
  EXPECT_NE(first, std::string::npos) << told;
  EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
  EXPECT_FALSE(run_.Exists(WantedFile(pod)));
}

// It found the container running, and asks for its turn only after the exit is on record.
TEST_F(EngineHandlerUpdatesTest, AnUpdateDuringAStopDoesNotWaitForAnothersTurn) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string web = Create(pod, Web());
  const std::string job = Create(pod, EngineTest::Spec("job"));
  ASSERT_TRUE(engine_->StartContainer(web).ok());
  ASSERT_TRUE(engine_->StartContainer(job).ok());
  absl::Notification has_looked;
  absl::Notification has_stopped;
  absl::Notification is_refused;
  std::atomic<std::thread::id> updater;
  std::thread update;
  const auto update_job = [&] {
    updater = std::this_thread::get_id();
    EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(job, To("2500m", "1Gi"))));
    is_refused.Notify();
  };
  const auto stop_job = [&, stopper = std::this_thread::get_id()] {
    cgroups_.on_query = [&, stopper] {
      const std::thread::id self = std::this_thread::get_id();
      if (self == stopper && !update.joinable()) {
        // The stop has looked at the container, and is about to kill it.
        update = std::thread(update_job);
        has_looked.WaitForNotification();
      } else if (self == updater && !has_looked.HasBeenNotified()) {
        has_looked.Notify();
        has_stopped.WaitForNotificationWithTimeout(absl::Milliseconds(200));
      }
    };
    EXPECT_TRUE(engine_->StopContainer(job, absl::ZeroDuration()).ok());
    has_stopped.Notify();
    EXPECT_TRUE(is_refused.WaitForNotificationWithTimeout(absl::Seconds(20)));
    EXPECT_TRUE(engine_->StopContainer(web, absl::ZeroDuration()).ok());
  };
  EXPECT_FALSE(
      Slowly([&] { return engine_->UpdateResources(web, To("3500m", "1Gi")); }, stop_job).ok());
  update.join();
  cgroups_.on_query = nullptr;
}

TEST_F(EngineHandlerUpdatesTest, ARemovalOfAContainerDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());  // of a container that was never started
  const absl::Status cancelled =
      Slowly([&] { return engine_->UpdateResources(id, To("3500m", "1Gi")); },
             [&] { EXPECT_TRUE(engine_->RemoveContainer(id).ok()); });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
}

TEST_F(EngineHandlerUpdatesTest, ARemovalOfThePodDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  PodResources wanted = Announcing("1", "1Gi");
  wanted.containers[1].kubernetes_resources.limits["cpu"] = "3";
  for (const bool is_stopped_first : {true, false}) {
    const std::string pod = Pod(Spec("vm"));
    const absl::Status cancelled =
        Slowly([&] { return engine_->UpdateSandboxResources(pod, {.pod_resources = wanted}); },
               [&] {
                 if (is_stopped_first) {
                   EXPECT_TRUE(engine_->StopSandbox(pod).ok());
                   EXPECT_EQ(engine_->GetSandbox(pod)->spec.pod_resources, Announcing("1", "1Gi"));
                 }
                 EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
               });
    EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
    EXPECT_THAT(cancelled.message(), HasSubstr("is being stopped or removed"));
    EXPECT_EQ(Times(Told(), R"("vcpus":)"), 1u) << "of a pod that goes nothing is told back";
  }
  for (const Event& event : events_.Since(0)) EXPECT_NE(event.type, EventType::kWarning);
  ExpectNothingLeft();
}

TEST_F(EngineHandlerUpdatesTest, TheEndOfTheDaemonDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  ASSERT_TRUE(run_.ReplaceFile(WantedFile(pod), "").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
  StartEngine();  // sends the values that hold in another thread
  ASSERT_TRUE(WaitUntil([&] { return !dir_.root().Read("told").value_or("").empty(); }));
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod)); }));
  EXPECT_EQ(Times(Told(), R"("vcpus":2)"), 2u);
  for (const Event& event : events_.Since(0)) {
    EXPECT_THAT(event.message,
                Not(HasSubstr("tell the runtime handler the pod's present resources")))
        << "it was waited for";
  }
}

TEST_F(EngineHandlerUpdatesTest, ADaemonThatEndsEndsTheUpdateCommandsOfItsClients) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const absl::Status cancelled =
      Slowly([&] { return engine_->UpdateResources(id, To("3500m", "1Gi")); },
             [&] { engine_->CallOffUpdates(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
  EXPECT_THAT(cancelled.message(), HasSubstr("the daemon is ending"));
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(id, To("3500m", "1Gi"))));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":4)"));
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod)); }));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":2)"));
  EXPECT_TRUE(engine_->UpdateResources(id, To("3500m", "1Gi")).ok());
}

// Four commands run at a time.
TEST_F(EngineHandlerUpdatesTest, CommandsOfAStartKeepNothingElseWaiting) {
  SetUpdateCommand("vm");
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    SandboxSpec spec = Spec("vm");
    spec.name = name;
    ASSERT_TRUE(run_.ReplaceFile(WantedFile(Pod(spec)), "").ok());
  }
  const std::string id = Create(Pod(PodSpec("other")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string script =
      absl::StrCat("#!/bin/sh\necho begun >> ", dir_.path(), "/told\nexec sleep 300\n");
  ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
  handlers_["vm"].update_timeout_seconds = 200;
  StartEngine();
  EXPECT_TRUE(
      WaitUntil([&] { return Times(dir_.root().Read("told").value_or(""), "begun") == 4; }));
  FollowsShare(id);
}

TEST_F(EngineHandlerUpdatesTest, TheNodesShareDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const absl::Status cancelled =
      Slowly([&] { return engine_->UpdateResources(id, To("3500m", "1Gi")); },
             [&] {
               FollowsShare(id);
               EXPECT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
             });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
}

// A kill between the update command and the update: the handler received the new values.
TEST_F(EngineHandlerUpdatesTest, AKillAfterTheUpdateCommandIsToldBackAtTheNextStart) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  // The file that the command reads stays there until the update is whole.
  bool was_there = false;
  cgroups_.on_apply = [&] { was_there = run_.Exists(WantedFile(pod)); };
  ResourceUpdate update = To("3500m", "1Gi");
  update.cgroup.cpu_shares = 100;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  cgroups_.on_apply = nullptr;
  EXPECT_TRUE(was_there);
  EXPECT_FALSE(run_.Exists(WantedFile(pod)));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":4)"));
  ASSERT_TRUE(engine_->UpdateResources(id, To("1", "1Gi")).ok());
  Told();

  ASSERT_TRUE(run_.ReplaceFile(WantedFile(pod), "").ok());
  ExitWith(3);
  const size_t before = events_.Since(0).size();  // earlier warnings among them
  StartEngine();
  const auto warns = [&] {
    const std::vector<Event> events = events_.Since(0);
    for (size_t i = before; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type == EventType::kWarning && event.sandbox_id == pod) return true;
    }
    return false;
  };
  EXPECT_TRUE(WaitUntil(warns)) << "the command has failed";
  EXPECT_TRUE(run_.Exists(WantedFile(pod))) << "so the next start tries again";
  ExitWith(0);
  Told();
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod)); }));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":2)"));
}

// A shrink as kubelet makes it: the pod is announced first, then the container is updated.
class EngineShrinkTest : public EngineHandlersTest {
 protected:
  static constexpr int64_t kMebibyte = 1 << 20;
  void SetUp() override {
    EngineHandlersTest::SetUp();
    SetUpdateCommand("vm");
    handlers_["vm"].is_fixed = true;
  }
  static PodResources Announcing(const std::string& memory) {
    AnnouncedContainer web = {.name = "container", .type = AnnouncedContainer::Type::kContainer};
    web.kubernetes_resources.limits["memory"] = memory;
    return {.containers = {web}};
  }
  static ResourceUpdate ToMib(int64_t mib) {
    ResourceUpdate update;
    update.cgroup.memory_limit_bytes = mib * kMebibyte;
    update.kubernetes_resources =
        KubernetesResources{.requests = {}, .limits = {{"memory", absl::StrCat(mib, "Mi")}}};
    return update;
  }
  void Begin() {
    SandboxSpec spec = PodSpec();
    spec.runtime_handler = "vm";
    spec.pod_resources = Announcing("128Mi");
    pod_ = Pod(spec);
    ContainerSpec web = EngineTest::Spec("container");
    web.kubernetes_resources.limits["memory"] = "128Mi";
    web.resources.memory_limit_bytes = 128 * kMebibyte;
    id_ = Create(pod_, web);
    ASSERT_TRUE(engine_->StartContainer(id_).ok());
  }
  void Announce(const std::string& memory) {
    const absl::Status done =
        engine_->UpdateSandboxResources(pod_, {.pod_resources = Announcing(memory)});
    ASSERT_TRUE(done.ok()) << done;
  }
  void RefuseNext() {
    cgroups_.faults.FailNext("Apply", absl::FailedPreconditionError("40 MiB are in use"));
  }
  std::vector<std::string> Contradictions() const {
    std::vector<std::string> found;
    for (const Event& event : events_.Since(0)) {
      if (absl::StrContains(event.message, "contradict")) found.push_back(event.message);
    }
    return found;
  }
  static std::string Size(int64_t mib) {
    return absl::StrCat("\"size\":{\"memory_bytes\":", mib * kMebibyte, "}");
  }

  std::string pod_;
  std::string id_;
};

TEST_F(EngineShrinkTest, TheMachineShrinksOnceItsContainersHave) {
  Begin();
  Announce("64Mi");
  EXPECT_THAT(Told(), HasSubstr(Size(128))) << "the container may use as much still";
  std::string at_the_kernel;
  cgroups_.on_apply = [&] { at_the_kernel = dir_.root().Read("told").value_or(""); };
  ASSERT_TRUE(engine_->UpdateResources(id_, ToMib(64)).ok());
  cgroups_.on_apply = nullptr;
  EXPECT_EQ(at_the_kernel, "") << "the command comes after the kernel's limit";
  const std::string told = Told();
  EXPECT_THAT(told, HasSubstr(Size(64)));
  EXPECT_EQ(Times(told, "\"size\""), 1u);
  EXPECT_FALSE(run_.Exists(WantedFile(pod_)));
  EXPECT_THAT(Contradictions(), IsEmpty());
}

TEST_F(EngineShrinkTest, ARefusedShrinkLeavesTheMachineAsItWas) {
  Begin();
  for (int tries = 0; tries < 2; ++tries) {
    Announce("20Mi");
    RefuseNext();
    const absl::Status refused = engine_->UpdateResources(id_, ToMib(20));
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    const std::string told = Told();
    EXPECT_THAT(told, HasSubstr(Size(128)));
    EXPECT_THAT(told, Not(HasSubstr(Size(20))));
    EXPECT_FALSE(run_.Exists(WantedFile(pod_)));
    EXPECT_EQ(engine_->GetContainer(id_)->spec.resources.memory_limit_bytes, 128 * kMebibyte);
    EXPECT_EQ(engine_->GetContainer(id_)->spec.kubernetes_resources.limits.at("memory"), "128Mi");
    StartEngine();
  }
  EXPECT_THAT(
      Contradictions(),
      Contains(AllOf(HasSubstr("container container: the written resources contradict linux"),
                     HasSubstr("the limit of memory is 20Mi, linux has 128 MiB"))));
  EXPECT_EQ(dir_.root().Read("told").value_or(""), "") << "a start tells nothing anew";
  Announce("128Mi");  // as the agent does
  EXPECT_THAT(Told(), HasSubstr(Size(128)));
  Announce("64Mi");
  ASSERT_TRUE(engine_->UpdateResources(id_, ToMib(64)).ok());
  EXPECT_THAT(Told(), HasSubstr(Size(64)));
}

TEST_F(EngineShrinkTest, AContradictionIsToldOnce) {
  Begin();
  for (int tries = 0; tries < 3; ++tries) {
    Announce("20Mi");
    RefuseNext();
    EXPECT_FALSE(engine_->UpdateResources(id_, ToMib(20)).ok());
  }
  EXPECT_THAT(Contradictions(), SizeIs(1));
}

// The row is written before the kernel refuses.
TEST_F(EngineShrinkTest, ARefusedShrinkThatWasKilledIsTakenBackAtTheNextStart) {
  Begin();
  Announce("20Mi");
  Told();
  // The state of the disk at the moment of the kill.
  std::map<std::string, std::string> files;
  ContainerRecord row;
  cgroups_.on_apply = [&] {
    const std::vector<std::string> marks = *run_.List("updates");
    for (const std::string& name : marks) {
      files["updates/" + name] = *run_.Read("updates/" + name);
    }
    files[WantedFile(pod_)] = *run_.Read(WantedFile(pod_));
    row = *engine_->GetContainer(id_);
  };
  RefuseNext();
  EXPECT_FALSE(engine_->UpdateResources(id_, ToMib(20)).ok());
  cgroups_.on_apply = nullptr;
  ASSERT_EQ(row.spec.resources.memory_limit_bytes, 20 * kMebibyte);
  for (const auto& [name, content] : files) ASSERT_TRUE(run_.ReplaceFile(name, content).ok());
  ASSERT_TRUE(store_.PutContainer(row).ok());
  RefuseNext();
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod_)); }));
  const ContainerRecord record = *engine_->GetContainer(id_);
  EXPECT_EQ(record.spec.resources.memory_limit_bytes, 128 * kMebibyte);
  EXPECT_EQ(record.spec.kubernetes_resources.limits.at("memory"), "128Mi");
  const std::string told = Told();
  EXPECT_THAT(told, HasSubstr(Size(128)));
  EXPECT_THAT(told, Not(HasSubstr(Size(20))));
  EXPECT_THAT(*run_.List("updates"), IsEmpty());
}

// One part of the machine grows and another shrinks.
TEST_F(EngineShrinkTest, GrowthIsToldBeforeAndShrinkingAfter) {
  handlers_["vm"].is_fixed = false;
  Begin();
  ResourceUpdate update = ToMib(64);
  update.kubernetes_resources->limits["cpu"] = "2";
  update.cgroup.cpu_quota_us = 200000;
  std::string at_the_kernel;
  cgroups_.on_apply = [&] { at_the_kernel = dir_.root().Read("told").value_or(""); };
  ASSERT_TRUE(engine_->UpdateResources(id_, update).ok());
  cgroups_.on_apply = nullptr;
  EXPECT_THAT(at_the_kernel, HasSubstr("\"size\":{\"vcpus\":2,\"memory_bytes\":134217728}"));
  EXPECT_THAT(Told(), HasSubstr("\"size\":{\"vcpus\":2,\"memory_bytes\":67108864}"));
}

// The next update or start tries again.
TEST_F(EngineShrinkTest, ACommandThatFailsAfterAShrinkIsAWarning) {
  Begin();
  Announce("64Mi");
  ExitWith(3);
  EXPECT_TRUE(engine_->UpdateResources(id_, ToMib(64)).ok());
  EXPECT_TRUE(run_.Exists(WantedFile(pod_)));
  ExitWith(0);
  Told();
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod_)); }));
  EXPECT_THAT(Told(), HasSubstr(Size(64)));
}

TEST_F(EngineHandlerUpdatesTest, AHandlerThatIsGoneIsNamed) {
  const std::string pod = Pod(Spec("vm"));
  handlers_.clear();
  const auto refused = engine_->CreateContainer(pod, Web(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("the runtime handler vm of sandbox"));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
}

TEST_F(EngineHandlerUpdatesTest, WithoutItsHandlerWhatIsNotFixedCanBeUpdated) {
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  SandboxSpec spec = Spec("fixed");
  spec.name = "other";
  const std::string fixed = Pod(spec);
  const std::string held = Create(fixed, Web());
  ASSERT_TRUE(engine_->StartContainer(held).ok());
  handlers_.clear();
  const absl::Status updated = engine_->UpdateResources(id, To("2", "1Gi"));
  EXPECT_TRUE(updated.ok()) << updated;
  EXPECT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("2", "2Gi")}).ok());
  for (const absl::Status& refused :
       {engine_->UpdateResources(held, To("500m", "1Gi")),
        engine_->UpdateSandboxResources(fixed, {.pod_resources = Announcing("1", "512Mi")})}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("the runtime handler fixed of sandbox"));
  }
}

}  // namespace
}  // namespace plimsoll::runtime
