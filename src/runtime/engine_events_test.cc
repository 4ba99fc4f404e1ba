// The texts of a pod's events.
#include <utility>
#include <vector>

#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class EngineEventsTest : public EngineTest {};

// Once an object is removed, its id alone says nothing to people.
TEST_F(EngineEventsTest, EachNamesWhatItIsAbout) {
  const std::string pod = *engine_->RunSandbox(PodSpec("web"), "");
  const std::string id = *engine_->CreateContainer(pod, Spec("app"), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  runtime_.EndMonitor(id, ExitRecord{3, 1});
  Wait(id);
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  std::vector<std::pair<EventType, std::string>> told;
  for (const Event& event : events_.Since(0)) {
    if (event.type != EventType::kWarning) told.emplace_back(event.type, event.message);
  }
  EXPECT_THAT(told, ElementsAre(Pair(EventType::kSandboxStarted, "default/web"),
                                Pair(EventType::kContainerCreated, "app"),
                                Pair(EventType::kContainerStarted, "app"),
                                Pair(EventType::kContainerUpdated, "app"),
                                Pair(EventType::kContainerStopped, "app: Error, exit code 3"),
                                Pair(EventType::kContainerRemoved, "app"),
                                Pair(EventType::kSandboxStopped, "default/web"),
                                Pair(EventType::kSandboxRemoved, "default/web")));
}

}  // namespace
}  // namespace plimsoll::runtime
