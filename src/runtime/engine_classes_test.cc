// QoS classes through the lives of sandboxes and containers: places that are taken and given back.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_classes_fixture_for_test.h"
#include "runtime/pod/pause.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(EngineClassesTest, AreHeldFromCreateUntilExit) {
  const std::string pod = Pod({{"net", "silver"}});
  EXPECT_THAT(net_.members, ElementsAre(Pair(pod, "silver")));
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(id, "bronze")));
  EXPECT_THAT(oom_.members, ElementsAre(Pair(id, "gold")));
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "b", {{"rdt", "bronze"}}).status()));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  // The place is free at the container's end: a client starts the successor before the removal.
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze") << "what it held last";
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
  EXPECT_EQ(engine_->SandboxClasses(pod, true)->at("net").name, "silver");
}

TEST_F(EngineClassesTest, WhoHeldNoneIsForgottenWithItsRemoval) {
  engine_.reset();
  std::vector<std::unique_ptr<qos::ClassType>> types;
  types.push_back(std::make_unique<qos::FakeType>(&rdt_, qos::FakeType::Options{.name = "rdt"}));
  classes_ = *qos::Registry::Create(std::move(types));
  StartEngine();
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {});
  EXPECT_THAT(classes_->Targets(), Contains(Field(&qos::Target::id, id)));
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(classes_->Targets(), IsEmpty());
}

TEST_F(EngineClassesTest, APodWhoseInitDiedGivesItsPlaceBackWhenItIsStopped) {
  SandboxSpec spec = SharedPid();
  spec.classes = {{"net", "silver"}};
  const std::string pod = *engine_->RunSandbox(spec, "");
  ASSERT_TRUE(EndPause(host_, engine_->GetSandbox(pod)->pause, absl::InfiniteFuture()).ok());
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (engine_->GetSandbox(pod)->state == SandboxState::kReady && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  ASSERT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
}

TEST_F(EngineClassesTest, APodWhoseStopCannotBeSavedGivesItsPlaceBack) {
  const std::string pod = Pod({{"net", "silver"}});
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
}

TEST_F(EngineClassesTest, ARemovalDuringAnExitGivesThePlaceBack) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  absl::Notification recorded;
  absl::Notification removed;
  cgroups_.on_kill = [&](absl::string_view, absl::Time) {
    if (!recorded.HasBeenNotified()) {
      recorded.Notify();
      removed.WaitForNotification();
    }
    return absl::OkStatus();
  };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  recorded.WaitForNotification();
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
  removed.Notify();
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  engine_.reset();  // ends the users of the notifications
  cgroups_.on_kill = nullptr;
  StartEngine();
}

TEST_F(EngineClassesTest, ARefusedClassLeavesNothing) {
  const std::string pod = Pod();
  const absl::Status unknown = Make(pod, "a", {{"rdt", "tin"}}).status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("container a"));
  rdt_.refuse_after = 0;
  EXPECT_FALSE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
  EXPECT_THAT(oom_.members, IsEmpty());
  rdt_.refuse_after = -1;
  EXPECT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok()) << "its place was given back";
  SandboxSpec spec = PodSpec("other");
  spec.classes = {{"rdt", "gold"}};
  EXPECT_TRUE(absl::IsNotFound(engine_->RunSandbox(spec, "").status())) << "no class of pods";
}

TEST_F(EngineClassesTest, AFailedCreateGivesItsPlaceBack) {
  const std::string pod = Pod();
  for (const char* step : {"PutContainer", "PutCreated"}) {
    store_.faults.FailNext(step, absl::ResourceExhaustedError("no space"));
    EXPECT_FALSE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
    EXPECT_THAT(rdt_.members, IsEmpty());
  }
  EXPECT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
}

TEST_F(EngineClassesTest, ANodeWithoutClassesSaysSo) {
  engine_.reset();
  classes_.reset();
  StartEngine();
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {});
  const absl::Status container = engine_->UpdateResources(id, {.classes = {{"rdt", "gold"}}});
  EXPECT_TRUE(absl::IsNotFound(container)) << container;
  EXPECT_THAT(std::string(container.message()),
              HasSubstr("container a: there are no QoS classes on this node"));
  const absl::Status sandbox = engine_->UpdateSandboxClasses(pod, {{"net", "gold"}});
  EXPECT_TRUE(absl::IsNotFound(sandbox)) << sandbox;
  EXPECT_EQ(sandbox.message(),
            absl::StrCat("sandbox ", pod, ": there are no QoS classes on this node"));
}

// A container's successor waits for a place: that is no refusal, and isn't counted.
TEST_F(EngineClassesTest, APlaceThatIsWaitedForIsNoRefusal) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  rdt_.on_release = [] { absl::SleepFor(absl::Milliseconds(200)); };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  EXPECT_THAT(classes_->Refusals(), IsEmpty());
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_THAT(classes_->Refusals(), ElementsAre(Pair(Pair("rdt", "capacity"), 1)));
}

TEST_F(EngineClassesTest, PlacesOfOtherClassesAreNotWaitedFor) {
  const std::string pod = Pod();
  ASSERT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
  const std::string id = *Make(pod, "b", {{"rdt", "silver"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  absl::Notification released;
  rdt_.on_release = [&] { released.WaitForNotification(); };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_LT(absl::Now() - begun, absl::Seconds(4)) << "5 s are waited for a place of its own class";
  released.Notify();
  engine_.reset();  // ends the user of the notification
  rdt_.on_release = nullptr;
  StartEngine();
}

TEST_F(EngineClassesTest, WhatWasBeingMadeHoldsNothingAfterARestart) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ContainerRecord record = *engine_->GetContainer(id);
  engine_.reset();
  record.state = ContainerState::kCreating;
  ASSERT_TRUE(store_.PutContainer(record).ok());
  Restart();
  EXPECT_THAT(rdt_.members, IsEmpty());
}

// kubelet that was killed between create and start makes the next attempt beside the first.
TEST_F(EngineClassesTest, ALaterAttemptTakesThePlaceOfOneThatWasNeverStarted) {
  const std::string pod = Pod();
  ContainerSpec spec = Spec("a");
  spec.classes = {{"rdt", "bronze"}};  // one place
  const std::string first = *engine_->CreateContainer(pod, spec, "");
  spec.attempt = 1;
  const auto second = engine_->CreateContainer(pod, spec, "");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(*second, "bronze")));
  EXPECT_EQ(engine_->GetContainer(first)->state, ContainerState::kCreated);
  EXPECT_THAT(*engine_->ContainerClasses(first, false), IsEmpty());
  // The first can't run without its class.
  const absl::Status refused = engine_->StartContainer(first);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("gave up its classes to a later attempt"));
  EXPECT_EQ(engine_->GetContainer(first)->state, ContainerState::kCreated);
  ASSERT_TRUE(engine_->StartContainer(*second).ok());
  // One that runs keeps its place.
  spec.attempt = 2;
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->CreateContainer(pod, spec, "").status()));
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(*second, "bronze")));
  // With the place free the first may be started after all.
  ASSERT_TRUE(engine_->RemoveContainer(*second).ok());
  ASSERT_TRUE(engine_->StartContainer(first).ok());
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(first, "bronze")));
  EXPECT_EQ(engine_->ContainerClasses(first, false)->at("rdt").name, "bronze");
  EXPECT_THAT(oom_.members, Contains(Pair(first, "gold"))) << "a class by default";
  runtime_.EndMonitor(first, ExitRecord{0, 0});
  Wait(first);
  EXPECT_FALSE(engine_->StartContainer(first).ok());
  spec.attempt = 3;
  EXPECT_TRUE(engine_->CreateContainer(pod, spec, "").ok()) << "that start took no place";
}

TEST_F(EngineClassesTest, ARestartLeavesSupersededContainersNoPlace) {
  const std::string pod = Pod();
  const std::string first = *Make(pod, "a", {{"rdt", "silver"}});  // two places
  ContainerSpec spec = Spec("a");
  spec.classes = {{"rdt", "silver"}};
  spec.attempt = 1;
  const std::string second = *engine_->CreateContainer(pod, spec, "");
  Restart();
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(second, "silver")));
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "silver"}}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "silver"}}).status()));
  EXPECT_TRUE(engine_->RemoveContainer(first).ok());
}

TEST_F(EngineClassesTest, APodsNextSandboxTakesThePlaceOfOneWithoutALife) {
  SandboxSpec spec = SharedPid();
  spec.classes = {{"net", "bronze"}};  // one place
  const std::string first = *engine_->RunSandbox(spec, "");
  spec.attempt = 1;
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->RunSandbox(spec, "").status())) << "it is Ready";
  ASSERT_TRUE(EndPause(host_, engine_->GetSandbox(first)->pause, absl::InfiniteFuture()).ok());
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (engine_->GetSandbox(first)->state == SandboxState::kReady && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  const auto second = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(net_.members, ElementsAre(Pair(*second, "bronze")));
  EXPECT_TRUE(engine_->RemoveSandbox(*second).ok());  // its init is a real process
}

TEST_F(EngineClassesTest, InspectionComparesHoldersWithWhatLives) {
  const std::string pod = Pod({{"net", "silver"}});
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  EXPECT_THAT(engine_->Inspect(), IsEmpty());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(engine_->Inspect(), IsEmpty());
  ASSERT_TRUE(
      classes_->Reserve(qos::Level::kContainer, "other", "container b", {{"rdt", "bronze"}}).ok());
  ASSERT_TRUE(classes_->Reserve(qos::Level::kPod, "other-pod", "pod", {{"net", "silver"}}).ok());
  // A look leaves out a class that the removed container's exit is still releasing.
  std::vector<Finding> findings;
  ASSERT_TRUE(WaitUntil([&] {
    findings = engine_->Inspect();
    return findings.size() == 2;
  }));
  EXPECT_EQ(findings[0].difference, Difference::kStrayClassPlace);
  EXPECT_EQ(findings[0].sandbox_id, "other-pod");
  EXPECT_EQ(findings[0].what, "holds a place in the class net silver, and is not recorded");
  EXPECT_EQ(findings[1].difference, Difference::kStrayClassPlace);
  EXPECT_EQ(findings[1].container_id, "other");
  EXPECT_THAT(findings[1].what, HasSubstr("rdt bronze"));
}

// The gate ClassResources on, off and on again, with a container that runs all the time.
TEST_F(EngineClassesTest, SwitchedOffHoldersKeepWhatTheyHave) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  assign_classes_ = false;
  Restart();
  EXPECT_EQ(rdt_.members[id], "bronze");
  const std::string plain = *Make(pod, "b", {});
  EXPECT_FALSE(oom_.members.contains(plain));
  assign_classes_ = true;
  Restart();
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze");
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_THAT(*engine_->ContainerClasses(plain, true), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
