// Recovery over the parts alone: the two steps of the life cycle are the test's. recovery_test.cc
// has the engine.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/parts_fixture_for_test.h"
#include "runtime/recovery.h"
#include "runtime/state_machine.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
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
        Recovery::LifeCycle{.remove = [](const std::string&) { return absl::OkStatus(); },
                            .unmake =
                                [this](const SandboxRecord& record) {
                                  unmade_.push_back(record.id);
                                  return unmake_;
                                }});
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

}  // namespace
}  // namespace plimsoll::runtime
