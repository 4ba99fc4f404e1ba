// Events in the life of pods and containers: each once and in order, however the life goes.
// Plugins follow them.
#include <thread>

#include "base/wait_until_for_test.h"
#include "runtime/engine_hooks_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kCreated[] = "ContainerCreated";
constexpr char kStarted[] = "ContainerStarted";
constexpr char kStopped[] = "ContainerStopped";
constexpr char kRemoved[] = "ContainerRemoved";

class EngineEventOrderTest : public EngineHooksTest {
 protected:
  void SetUp() override {
    EngineHooksTest::SetUp();
    if (IsSkipped()) return;
    listener_ = events_.Listen([this](const Event& event, const EventSubject& subject) {
      if (subject.container == nullptr && subject.sandbox == nullptr) return;
      absl::MutexLock lock(&mutex_);
      const std::string& id = event.container_id.empty() ? event.sandbox_id : event.container_id;
      told_[id].push_back(EventTypeName(event.type));
    });
  }
  void TearDown() override { events_.Unlisten(listener_); }
  std::vector<std::string> TypesOf(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    return told_[id];
  }
  size_t Objects() {
    absl::MutexLock lock(&mutex_);
    return told_.size();
  }

 private:
  int listener_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, std::vector<std::string>> told_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(EngineEventOrderTest, AWholeLife) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(pod), ElementsAre("SandboxStarted", "SandboxStopped", "SandboxRemoved"));
}

TEST_F(EngineEventOrderTest, OneThatEndsByItself) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  Wait(id);
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
}

TEST_F(EngineEventOrderTest, OneThatEndsWithinItsStart) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  runtime_.on_start = [&] {
    runtime_.EndMonitor(id, ExitRecord{0, 1});
    ASSERT_TRUE(
        WaitUntil([&] { return engine_->GetContainer(id)->state == ContainerState::kExited; }));
  };
  EXPECT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStarted, kStopped));
}

TEST_F(EngineEventOrderTest, AFailedStart) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  runtime_.faults.FailNext("Start", absl::InternalError("no"));
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStopped, kRemoved));
}

TEST_F(EngineEventOrderTest, AFailedStartWhoseEndIsRecordedFirst) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  runtime_.on_start = [&] {
    runtime_.EndMonitor(id, std::nullopt);
    ASSERT_TRUE(
        WaitUntil([&] { return engine_->GetContainer(id)->state == ContainerState::kExited; }));
  };
  runtime_.faults.FailNext("Start", absl::InternalError("no"));
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStopped, kRemoved));
}

TEST_F(EngineEventOrderTest, ARefusedProgram) {
  const std::string pod = Pod();
  runtime_.faults.FailNext("Refuse", absl::NotFoundError("no such program"));
  const std::string id = Container(pod);
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStopped, kRemoved));
}

TEST_F(EngineEventOrderTest, OneThatIsNeverStarted) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStopped, kRemoved));
}

TEST_F(EngineEventOrderTest, ARefusedStartIsNoEvent) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  plugins_.faults.FailNext("StartContainer", absl::InternalError("no"));
  EXPECT_FALSE(engine_->StartContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated));
}

TEST_F(EngineEventOrderTest, ARemovalOfThePod) {
  const std::string pod = Pod();
  const std::string running = Started(pod, "running");
  const std::string created = Container(pod, "created");
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(TypesOf(running), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(created), ElementsAre(kCreated, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(pod), ElementsAre("SandboxStarted", "SandboxStopped", "SandboxRemoved"));
}

TEST_F(EngineEventOrderTest, ARemovalThatFailsAtFirst) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  runtime_.faults.FailNext("Delete", absl::InternalError("no"));
  EXPECT_FALSE(engine_->RemoveSandbox(pod).ok());
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(pod), ElementsAre("SandboxStarted", "SandboxStopped", "SandboxRemoved"));
}

TEST_F(EngineEventOrderTest, SeveralStopsAndRemovalsAtOnce) {
  const std::string pod = Pod();
  const std::string id = Started(pod);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { engine_->StopContainer(id, absl::ZeroDuration()).IgnoreError(); });
    threads.emplace_back([&] { engine_->RemoveContainer(id).IgnoreError(); });
    threads.emplace_back([&] { engine_->RemoveSandbox(pod).IgnoreError(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(TypesOf(id), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(pod), ElementsAre("SandboxStarted", "SandboxStopped", "SandboxRemoved"));
}

TEST_F(EngineEventOrderTest, AcrossARestart) {
  const std::string pod = Pod();
  const std::string running = Started(pod, "running");
  const std::string ended = Started(pod, "ended");
  engine_.reset();
  runtime_.EndMonitor(ended, ExitRecord{0, 1});
  ASSERT_TRUE(WaitUntil([&] {
    return !linux::IsRunning(host_, store_.LoadContainers()->back().init).value_or(true) ||
           !linux::IsRunning(host_, store_.LoadContainers()->front().init).value_or(true);
  }));
  Restart();
  Wait(ended);
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(TypesOf(running), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(ended), ElementsAre(kCreated, kStarted, kStopped, kRemoved));
  EXPECT_THAT(TypesOf(pod), ElementsAre("SandboxStarted", "SandboxStopped", "SandboxRemoved"));
}

TEST_F(EngineEventOrderTest, ACreationThatFailsIsNoEvent) {
  runtime_.faults.FailNext("Create", absl::InternalError("no"));
  const std::string pod = Pod();
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec(), "").ok());
  plugins_.faults.FailNext("RunSandbox", absl::InternalError("no"));
  EXPECT_FALSE(engine_->RunSandbox(PodSpec("other"), "").ok());
  EXPECT_EQ(Objects(), 1u);
}

// Remains that can't be removed are shown and removed later. That they existed was never told.
TEST_F(EngineEventOrderTest, RemainsOfAFailedCreationAreRemovedOnce) {
  const std::string pod = Pod();
  runtime_.faults.FailNext("Create", absl::InternalError("no"));
  runtime_.faults.FailNext("Delete", absl::InternalError("no"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec(), "").ok());
  ASSERT_EQ(engine_->ListContainers().size(), 1u);
  const std::string id = engine_->ListContainers()[0].id;
  EXPECT_EQ(plugins_.calls().back(), "UndoContainer container");
  EXPECT_THAT(TypesOf(id), IsEmpty());
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  EXPECT_THAT(TypesOf(id), ElementsAre(kRemoved));
}

}  // namespace
}  // namespace plimsoll::runtime
