// A fixture for tests of the engine's hooks: an engine whose plugins are FakeHooks.
#ifndef PLIMSOLL_RUNTIME_ENGINE_HOOKS_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_ENGINE_HOOKS_FIXTURE_FOR_TEST_H_

#include <string>
#include <vector>

#include "runtime/engine_classes_fixture_for_test.h"
#include "runtime/pod/fake_hooks_for_test.h"

namespace plimsoll::runtime {

class EngineHooksTest : public EngineClassesTest {
 protected:
  void SetUp() override {
    hooks_ = &plugins_;
    EngineClassesTest::SetUp();
  }
  // The types of the events about objects, and their messages: "ContainerCreated web".
  std::vector<std::string> Told() const {
    std::vector<std::string> told;
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning || event.type == EventType::kRecovered) continue;
      told.push_back(absl::StrCat(EventTypeName(event.type), " ", event.message));
    }
    return told;
  }
  std::string Container(const std::string& pod, const std::string& name = "container") {
    auto id = engine_->CreateContainer(pod, Spec(name), "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : "";
  }
  std::string Started(const std::string& pod, const std::string& name = "container") {
    const std::string id = Container(pod, name);
    const absl::Status started = engine_->StartContainer(id);
    EXPECT_TRUE(started.ok()) << started;
    return id;
  }

  FakeHooks plugins_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_HOOKS_FIXTURE_FOR_TEST_H_
