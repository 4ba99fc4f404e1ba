#include "runtime/container_exits.h"

#include "base/monotonic_time.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ContainerExitsTest : public PartsTest {
 protected:
  ContainerExitsTest() {
    options_.host = *FsRoot::Open("/");  // monitors are real processes
    EXPECT_TRUE(store_.PutSandbox(SandboxOf("pod")).ok());
    EXPECT_TRUE(watcher_.Start().ok());
  }
  // Running, with a monitor.
  std::shared_ptr<Container> Start(const std::string& id) {
    ContainerRecord record = ContainerOf(id, "pod");
    record.boot_id = "boot";
    ContainerSpec spec;
    const auto created = runtime_.Create({.id = id, .spec = &spec});
    EXPECT_TRUE(created.ok()) << created.status();
    record.monitor = created->monitor;
    record.init = created->init;
    return Add(record);
  }
  ContainerRecord Await(const std::shared_ptr<Container>& container) {
    EXPECT_TRUE(exits_.AwaitRecord(container, MonotonicNow() + absl::Seconds(20)));
    return container->Snapshot();
  }

  NodeConfinement confinement_{options_, &objects_};
  ClassAssignments classes_{options_, &objects_, &confinement_};
  ContainerExits exits_{options_, "boot", &classes_, &watcher_};
  ExitWatcher watcher_;  // last: it ends first
};

TEST_F(ContainerExitsTest, RecordsWhatTheMonitorLeftAndTellsIt) {
  const auto container = Start("c");
  ASSERT_TRUE(exits_.Watch(container, container->Snapshot().monitor).ok());
  runtime_.EndMonitor("c", ExitRecord{.code = 3, .finished_unix_nanos = 7});
  const ContainerRecord record = Await(container);
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_EQ(record.finished_unix_nanos, 7);
  EXPECT_EQ(record.reason, "Error");
  EXPECT_EQ(store_.LoadContainers()->front().exit_code, 3);
  EXPECT_THAT(Messages(EventType::kContainerStopped), ElementsAre("c: Error, exit code 3"));
}

TEST_F(ContainerExitsTest, AnExitThatNobodySawIsUnknown) {
  const auto container = Start("c");
  runtime_.EndMonitor("c", std::nullopt);
  exits_.Record(container);
  const ContainerRecord record = container->Snapshot();
  EXPECT_EQ(record.exit_code, 255);
  EXPECT_EQ(record.reason, "Unknown");
  EXPECT_THAT(record.message, HasSubstr("without a record"));
}

TEST_F(ContainerExitsTest, AnExitIsRecordedOnce) {
  const auto container = Start("c");
  runtime_.EndMonitor("c", ExitRecord{.code = 0, .finished_unix_nanos = 7});
  exits_.Record(container);
  exits_.Record(container);
  EXPECT_EQ(Messages(EventType::kContainerStopped).size(), 1u);
}

TEST_F(ContainerExitsTest, AKillForMemoryIsToldFirst) {
  cgroups_.oom_kills = 1;
  const auto container = Start("c");
  runtime_.EndMonitor("c", ExitRecord{.code = 137, .finished_unix_nanos = 7});
  exits_.Record(container);
  EXPECT_EQ(container->Snapshot().reason, "OOMKilled");
  EXPECT_EQ(Messages(EventType::kContainerOom).size(), 1u);
}

TEST_F(ContainerExitsTest, WhileItIsStartedAnExitIsLeftToTheStartToTell) {
  const auto container = Start("c");
  {
    absl::MutexLock lock(&container->mutex);
    container->starting = true;
  }
  runtime_.EndMonitor("c", ExitRecord{.code = 0, .finished_unix_nanos = 7});
  exits_.Record(container);
  EXPECT_THAT(Messages(EventType::kContainerStopped), IsEmpty());
  exits_.RecordFailedStart(*container, absl::InternalError("no program"));
  const ContainerRecord record = container->Snapshot();
  EXPECT_EQ(record.exit_code, 128);
  EXPECT_EQ(record.reason, kStartError);
  EXPECT_EQ(record.message, "no program");
  EXPECT_EQ(Messages(EventType::kContainerStopped).size(), 1u);
}

TEST_F(ContainerExitsTest, WhatCannotBeSavedIsToldAllTheSame) {
  const auto container = Start("c");
  runtime_.EndMonitor("c", ExitRecord{.code = 0, .finished_unix_nanos = 7});
  store_.faults.FailNext("PutContainer", absl::ResourceExhaustedError("full"));
  exits_.Record(container);
  EXPECT_EQ(container->Snapshot().state, ContainerState::kExited);
  EXPECT_EQ(Messages(EventType::kContainerStopped).size(), 1u);
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre(HasSubstr("full")));
}

TEST_F(ContainerExitsTest, AWaitThatIsTooShortSaysSo) {
  const auto container = Start("c");
  EXPECT_FALSE(exits_.Await(*container, absl::Now() + absl::Milliseconds(5)));
  EXPECT_FALSE(exits_.AwaitRecord(container, MonotonicNow() + absl::Milliseconds(5)));
}

}  // namespace
}  // namespace plimsoll::runtime
