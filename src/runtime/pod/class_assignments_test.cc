#include "runtime/pod/class_assignments.h"

#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/update_mark.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Pair;

class ClassAssignmentsTest : public PartsTest {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &rdt_, qos::FakeType::Options{.name = "rdt", .files = {"cpuset.cpus"}}));
    types.push_back(std::make_unique<qos::FakeType>(
        &net_, qos::FakeType::Options{.name = "net", .level = qos::Level::kPod}));
    registry_ = *qos::Registry::Create(std::move(types));
    options_.classes = registry_.get();
    confinement_.emplace(options_, &objects_);
    classes_.emplace(options_, &objects_, &*confinement_);
    ASSERT_TRUE(store_.PutSandbox(SandboxOf("pod")).ok());
    ASSERT_TRUE(run_.MakeDirs(kUpdates, 0700).ok());
  }
  // A container in its class and among the objects.
  std::shared_ptr<Container> Enforced(const std::string& id, const std::string& name) {
    ContainerRecord record = ContainerOf(id, "pod");
    record.spec.classes = {{"rdt", name}};
    EXPECT_TRUE(classes_->Reserve(&record).ok());
    EXPECT_TRUE(classes_->Enforce(record).ok());
    return Add(record);
  }
  absl::Status TryReserve(const std::string& id, const std::string& name) {
    ContainerRecord record = ContainerOf(id, "pod");
    record.spec.classes = {{"rdt", name}};
    return classes_->Reserve(&record);
  }

  qos::FakeKernel rdt_, net_;
  std::unique_ptr<qos::Registry> registry_;
  std::optional<NodeConfinement> confinement_;
  std::optional<ClassAssignments> classes_;
};

TEST_F(ClassAssignmentsTest, WithoutClassesNothingIsHeldAndNothingCanBeAskedFor) {
  options_.classes = nullptr;
  ContainerRecord record = ContainerOf("c", "pod");
  record.spec.classes = {{"rdt", "gold"}};
  EXPECT_TRUE(classes_->Reserve(&record).ok());
  EXPECT_THAT(record.classes, IsEmpty());
  EXPECT_TRUE(classes_->Enforce(record).ok());
  EXPECT_TRUE(absl::IsNotFound(classes_->Change(*Add(record), {{"rdt", "gold"}})));
  classes_->Release(record);
  EXPECT_THAT(Messages(EventType::kWarning), IsEmpty());
}

TEST_F(ClassAssignmentsTest, IsReservedEnforcedChangedAndReleased) {
  const auto container = Enforced("c", "gold");
  EXPECT_THAT(rdt_.members, ElementsAre(Pair("c", "gold")));
  EXPECT_TRUE(classes_->Change(*container, {{"rdt", "silver"}}).ok());
  EXPECT_THAT(rdt_.members, ElementsAre(Pair("c", "silver")));
  EXPECT_EQ(container->Snapshot().classes.at("rdt").name, "silver");
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").name, "silver");
  classes_->Release(container->Snapshot());
  EXPECT_THAT(rdt_.members, IsEmpty());
}

TEST_F(ClassAssignmentsTest, AChangeThatCannotBeSavedLeavesTheClassAsItWas) {
  const auto container = Enforced("c", "gold");
  store_.faults.FailNext("PutContainer", absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(classes_->Change(*container, {{"rdt", "silver"}}).ok());
  EXPECT_THAT(rdt_.members, ElementsAre(Pair("c", "gold")));
  EXPECT_EQ(container->Snapshot().classes.at("rdt").name, "gold");
}

TEST_F(ClassAssignmentsTest, PodsChangeWhileReady) {
  SandboxRecord record = SandboxOf("pod");
  record.spec.classes = {{"net", "gold"}};
  ASSERT_TRUE(classes_->Reserve(&record).ok());
  ASSERT_TRUE(classes_->Enforce(record).ok());
  const auto sandbox = Add(record);
  EXPECT_TRUE(classes_->Change(*sandbox, {{"net", "silver"}}).ok());
  EXPECT_THAT(net_.members, ElementsAre(Pair("pod", "silver")));
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->record.state = SandboxState::kNotReady;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(classes_->Change(*sandbox, {{"net", "gold"}})));
}

TEST_F(ClassAssignmentsTest, WhatHasEndedShowsTheClassOnRecord) {
  const auto container = Enforced("c", "gold");
  rdt_.drift = "no task is in it";
  EXPECT_THAT(classes_->EffectiveOf(container->Snapshot(), /*look=*/true),
              ElementsAre(Pair("rdt", Field(&qos::EffectiveClass::drift, "no task is in it"))));
  ContainerRecord ended = container->Snapshot();
  ended.state = ContainerState::kExited;
  EXPECT_THAT(classes_->EffectiveOf(ended, /*look=*/true),
              ElementsAre(Pair("rdt", Field(&qos::EffectiveClass::drift, ""))));
}

TEST_F(ClassAssignmentsTest, AnExitGivesThePlaceBackInItsOwnTime) {
  const auto container = Enforced("c", "bronze");
  EXPECT_TRUE(absl::IsResourceExhausted(TryReserve("d", "bronze")));
  classes_->ReleaseAtExit(container, classes_->AnnounceRelease(container->Snapshot().classes));
  EXPECT_THAT(rdt_.members, ElementsAre(Pair("c", "bronze")));  // it runs
  {
    absl::MutexLock lock(&container->mutex);
    container->record.state = ContainerState::kExited;
  }
  classes_->ReleaseAtExit(container, classes_->AnnounceRelease(container->Snapshot().classes));
  EXPECT_TRUE(WaitUntil([&] { return registry_->Targets().empty(); }));
}

TEST_F(ClassAssignmentsTest, ASuccessorWaitsForAPlaceThatIsAnnounced) {
  const auto container = Enforced("c", "bronze");
  absl::Notification may_end;
  rdt_.on_release = [&] { may_end.WaitForNotification(); };
  std::shared_ptr<void> announced = classes_->AnnounceRelease(container->Snapshot().classes);
  {
    absl::MutexLock lock(&container->mutex);
    container->record.state = ContainerState::kExited;
  }
  classes_->ReleaseAtExit(container, announced);
  announced.reset();
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(50));
    may_end.Notify();
  });
  EXPECT_TRUE(TryReserve("d", "bronze").ok());
  later.join();
}

TEST_F(ClassAssignmentsTest, ChangingToNamesWhatIsHeldAndWhatIsWanted) {
  const auto container = Enforced("c", "gold");
  const qos::HeldClasses changing =
      classes_->ChangingTo(container->Snapshot().classes, {{"rdt", "silver"}, {"net", "gold"}});
  ASSERT_EQ(changing.size(), 1u);  // net is for pods
  EXPECT_EQ(changing.at("rdt").name, "gold");
  EXPECT_EQ(changing.at("rdt").changing_to, "silver");
}

TEST_F(ClassAssignmentsTest, AChangeThatWasCutOffIsFinishedWhereTheRowSaysIt) {
  ContainerRecord record = ContainerOf("c", "pod");
  record.classes["rdt"] = {.name = "gold", .changing_to = "silver"};
  rdt_.members["c"] = "gold";
  bool changed = false;
  EXPECT_TRUE(classes_->FinishChange(&record, &changed).ok());
  EXPECT_FALSE(changed);  // no update is marked
  ASSERT_TRUE(
      run_.ReplaceFile(UpdateMarkOf(ClassesMarkIdOf("c")), ToJson(record.classes), 0600).ok());
  EXPECT_TRUE(classes_->FinishChange(&record, &changed).ok());
  EXPECT_TRUE(changed);
  EXPECT_TRUE(classes_->Adopt(&record, &changed).ok());
  EXPECT_EQ(record.classes.at("rdt").name, "silver");
  EXPECT_THAT(rdt_.members, ElementsAre(Pair("c", "silver")));
}

TEST_F(ClassAssignmentsTest, TheRegistryAsksWhatIsOnRecordWhileThereIsAnybodyToAsk) {
  ContainerRecord record = ContainerOf("c", "pod");
  record.spec.classes = {{"rdt", "gold"}};
  record.spec.resources.cpuset_cpus = "1";
  ASSERT_TRUE(classes_->Reserve(&record).ok());
  ASSERT_TRUE(classes_->Enforce(record).ok());
  const auto container = Add(record);
  {
    absl::MutexLock lock(&container->mutex);
    container->record.spec.resources.cpuset_cpus = "2";
  }
  const std::vector<qos::Target> targets = registry_->Targets();
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].underlying("cpuset.cpus"), "2");
  runtime_.entering = {42};
  EXPECT_THAT(targets[0].entering(), ElementsAre(42));
  classes_.reset();
  EXPECT_EQ(targets[0].underlying("cpuset.cpus"), "1");  // as it was when it was told
  EXPECT_THAT(targets[0].entering(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
