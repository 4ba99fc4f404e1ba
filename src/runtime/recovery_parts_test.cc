// Recovery over the parts alone: the two steps of the life cycle are the test's. recovery_test.cc
// has the engine.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/state_machine.h"
#include "runtime/recovery.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RecoveryPartsTest : public PartsTest {
 protected:
  RecoveryPartsTest() { options_.host = *FsRoot::Open("/"); }
  void SetUp() override {
    parts_ = std::make_unique<EngineParts>(options_, "boot");
    inspection_ = std::make_unique<EngineInspection>(parts_->options, "boot", &parts_->objects,
                                                     &parts_->networks, &parts_->classes);
    updates_ = std::make_unique<ContainerUpdates>(parts_->options, &parts_->confinement,
                                                  &parts_->classes, &parts_->pictures,
                                                  &parts_->handlers, &parts_->handler_updates);
    pod_updates_ = std::make_unique<PodUpdates>(
        parts_->options, &parts_->objects, &parts_->confinement, &parts_->pictures,
        &parts_->handlers, &parts_->handler_updates, &parts_->plugin_hooks);
    layers_ = std::make_unique<UnusedLayers>(parts_->options, &parts_->objects);
    recovery_ = std::make_unique<Recovery>(
        parts_.get(), inspection_.get(), updates_.get(), pod_updates_.get(), layers_.get(),
        Recovery::LifeCycle{.remove = [this](const std::string& id) { return remove_(id); },
                            .unmake =
                                [this](const SandboxRecord& record) {
                                  unmade_.push_back(record.id);
                                  return unmake_;
                                }});
  }
  // Adds what a failed creation of the pod left.
  void AddRemains(const std::string& id) {
    SandboxRecord record = SandboxOf(id);
    record.spec.name = "pod";
    record.state = SandboxState::kRemoving;
    parts_->objects.AddSandbox(std::make_shared<Sandbox>(record));
  }
  void DetachRemains() {
    SandboxRecord next = SandboxOf("next");
    next.spec.name = "pod";
    recovery_->DetachRemains(next);
  }
  void Record(const std::string& id, SandboxState state) {
    SandboxRecord record = SandboxOf(id);
    record.state = state;
    ASSERT_TRUE(store_.PutSandbox(record).ok());
  }
  std::vector<std::string> Sandboxes() const {
    std::vector<std::string> all;
    for (const SandboxRecord& record : parts_->objects.ListSandboxes()) {
      all.push_back(absl::StrCat(record.id, " ", StateName(record.state)));
    }
    return all;
  }

  std::unique_ptr<EngineParts> parts_;
  std::unique_ptr<EngineInspection> inspection_;
  std::unique_ptr<ContainerUpdates> updates_;
  std::unique_ptr<PodUpdates> pod_updates_;
  std::unique_ptr<UnusedLayers> layers_;
  std::unique_ptr<Recovery> recovery_;
  std::vector<std::string> unmade_;
  absl::Status unmake_;
  std::function<absl::Status(const std::string&)> remove_ = [](const std::string&) {
    return absl::OkStatus();
  };
};

TEST_F(RecoveryPartsTest, AHalfMadeSandboxIsUnmadeAndNotThere) {
  Record("pod", SandboxState::kCreating);
  ASSERT_TRUE(recovery_->Run().ok());
  EXPECT_THAT(unmade_, ElementsAre("pod"));
  EXPECT_THAT(Sandboxes(), IsEmpty());
  EXPECT_THAT(recovery_->Troubles(), IsEmpty());
  EXPECT_EQ(Messages(EventType::kRecovered).size(), 1u);
}

TEST_F(RecoveryPartsTest, OneThatCantBeUnmadeStaysForAClientToRemove) {
  Record("broken", SandboxState::kCreating);
  Record("going", SandboxState::kRemoving);
  unmake_ = absl::InternalError("busy");
  ASSERT_TRUE(recovery_->Run().ok());
  EXPECT_THAT(Sandboxes(), UnorderedElementsAre("broken Removing", "going Removing"));
  EXPECT_THAT(recovery_->Troubles(), UnorderedElementsAre("sandbox broken: recovery: busy",
                                                          "sandbox going: recovery: busy"));
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre("recovery: busy", "recovery: busy"));
}

TEST_F(RecoveryPartsTest, AStoppedSandboxIsAsItWas) {
  Record("pod", SandboxState::kNotReady);
  ASSERT_TRUE(recovery_->Run().ok());
  EXPECT_THAT(Sandboxes(), ElementsAre("pod NotReady"));
  EXPECT_THAT(unmade_, IsEmpty());
  EXPECT_THAT(recovery_->Troubles(), IsEmpty());
}

TEST_F(RecoveryPartsTest, ADamagedImageIsATrouble) {
  images_.damaged = {"image busybox is damaged"};
  ASSERT_TRUE(recovery_->Run().ok());
  EXPECT_THAT(recovery_->Troubles(), ElementsAre("recovery: image busybox is damaged"));
  EXPECT_EQ(images_.collections, 1);
}

TEST_F(RecoveryPartsTest, ARemovalThatIsAskedForMeanwhileIsTriedAgain) {
  AddRemains("first");
  std::atomic<int> removals = 0;
  remove_ = [&](const std::string&) {
    if (++removals > 1) return absl::OkStatus();
    DetachRemains();  // the pod's next sandbox, while this try fails
    return absl::InternalError("busy");
  };
  DetachRemains();
  EXPECT_TRUE(WaitUntil([&] { return removals == 2; }));
}

TEST_F(RecoveryPartsTest, RemainsThatAreBeingRemovedAreNotScheduledAgain) {
  AddRemains("first");
  AddRemains("second");
  absl::Notification go;
  absl::Mutex mutex;
  std::vector<std::string> removals;
  remove_ = [&](const std::string& id) {
    go.WaitForNotification();
    absl::MutexLock lock(&mutex);
    removals.push_back(id);
    return absl::InternalError("busy");
  };
  for (int attempt = 0; attempt < 10; ++attempt) DetachRemains();
  go.Notify();
  EXPECT_TRUE(WaitUntil([&] {
    absl::MutexLock lock(&mutex);
    return removals.size() >= 2;
  }));
  // A later attempt tries again, once the first try is over.
  EXPECT_TRUE(WaitUntil([&] {
    DetachRemains();
    absl::MutexLock lock(&mutex);
    return removals.size() >= 4;
  }));
  recovery_.reset();  // runs all accepted work
  EXPECT_THAT(removals, AllOf(Contains("first").Times(Ge(2)), Contains("second").Times(Ge(2))));
}

TEST_F(RecoveryPartsTest, RemainsThatFindTheQueueFullAreLeft) {
  constexpr int kQueued = 10000;
  constexpr int kThreads = 4;
  for (int i = 0; i < kQueued + 10; ++i) AddRemains(absl::StrFormat("%06d", i));
  absl::Notification go;
  std::atomic<int> removals = 0;
  std::atomic<int> inline_removals = 0;
  remove_ = [&, caller = std::this_thread::get_id()](const std::string&) {
    if (std::this_thread::get_id() == caller) {
      ++inline_removals;
    } else {
      go.WaitForNotification();
      ++removals;
    }
    return absl::OkStatus();
  };
  DetachRemains();
  EXPECT_EQ(inline_removals, 0);
  go.Notify();
  recovery_.reset();  // runs all accepted work
  EXPECT_GE(removals, kQueued);
  EXPECT_LE(removals, kQueued + kThreads);
}

TEST_F(RecoveryPartsTest, RemainsThatAClientRemovedMeanwhileAreNoTrouble) {
  AddRemains("gone");
  AddRemains("left");
  remove_ = [&](const std::string& id) {
    if (id == "gone") parts_->objects.RemoveSandbox(id, [] {});
    return absl::NotFoundError(id);
  };
  DetachRemains();
  recovery_.reset();  // runs all accepted work
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre("left"));
}

}  // namespace
}  // namespace plimsoll::runtime
