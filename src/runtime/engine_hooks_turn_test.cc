// Hooks that call the engine, and plugins that do so by themselves meanwhile: nothing waits for
// itself.
#include <atomic>
#include <thread>

#include "runtime/engine_hooks_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::IsEmpty;

class EngineHooksTurnTest : public EngineHooksTest {
 protected:
  // Does all that a hook may do. Containers may go meanwhile.
  void CallEngine() {
    for (const SandboxRecord& pod : engine_->ListSandboxes()) {
      engine_->Picture(pod.id).IgnoreError();
      engine_->Addresses(pod.id);
      engine_->ListContainersOf(pod.id);
    }
    for (const ContainerRecord& container : engine_->ListContainers()) {
      const absl::Status updated =
          engine_->UpdateForPlugin(container.id, {.cgroup = {.cpu_shares = 2 + updates_++ % 1000}});
      if (updated.ok()) ++done_;
    }
  }

  std::atomic<uint64_t> updates_ = 0;
  std::atomic<int> done_ = 0;
};

TEST_F(EngineHooksTurnTest, EachHookMayChangeOtherContainers) {
  const std::string other = Started(Pod());
  SandboxSpec spec = PodSpec("mine");
  std::vector<std::string> called;
  plugins_.on_hook = [&](const std::string& hook, const std::string& id) {
    called.push_back(hook);
    const int before = done_;
    CallEngine();
    EXPECT_GT(done_, before) << hook;
    // Another thread of the plugin, while the hook waits for it.
    std::thread([&] { CallEngine(); }).join();
    // The hook's own container, too, once it is there.
    const absl::Status own = engine_->UpdateForPlugin(id, {.cgroup = {.pids_limit = 3}});
    EXPECT_EQ(own.ok(), hook == "StartContainer" || hook == "UpdateContainer") << hook << own;
  };
  const std::string pod = *engine_->RunSandbox(spec, "");
  const std::string id = Started(pod);
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}}).ok());
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 300}}).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(called, ::testing::ElementsAre("RunSandbox", "CreateContainer", "StartContainer",
                                             "UpdateContainer", "UpdateSandbox", "SandboxUpdated",
                                             "StopSandbox"));
}

// A stop by a plugin's eviction, within any hook of another pod.
TEST_F(EngineHooksTurnTest, AHookMayStopContainers) {
  const std::string pod = Pod();
  const std::string other = Started(pod, "other");
  plugins_.on_hook = [&](const std::string& hook, const std::string&) {
    if (hook == "CreateContainer") {
      EXPECT_TRUE(engine_->StopContainer(other, absl::ZeroDuration()).ok());
    }
  };
  Container(pod, "mine");
  EXPECT_EQ(engine_->GetContainer(other)->state, ContainerState::kExited);
}

// Two starts of one container: the second waits for the first, and its hook isn't called.
TEST_F(EngineHooksTurnTest, StartsOfOneContainerAreAskedOnce) {
  const std::string pod = Pod();
  const std::string id = Container(pod);
  std::atomic<int> asked = 0;
  std::atomic<int> started = 0;
  plugins_.on_hook = [&](const std::string&, const std::string&) { ++asked; };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { started += engine_->StartContainer(id).ok(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(started, 1);
}

TEST_F(EngineHooksTurnTest, ManyPodsComeAndGoUnderHooks) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 5;
  std::atomic<bool> over = false;
  plugins_.on_hook = [&](const std::string&, const std::string&) { CallEngine(); };
  plugins_.adjust_update = [](ResourceUpdate* update) { update->cgroup.pids_limit = 5; };
  std::vector<std::thread> plugins;
  for (int i = 0; i < 2; ++i) {
    plugins.emplace_back([&] {
      while (!over) CallEngine();
    });
  }
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        const auto pod = engine_->RunSandbox(PodSpec(absl::StrCat("pod-", i)), "");
        ASSERT_TRUE(pod.ok()) << pod.status();
        if (round % 2 == 0) plugins_.faults.FailNext("CreateContainer", absl::InternalError("no"));
        std::vector<std::string> ids;
        for (const char* name : {"a", "b"}) {
          auto id = engine_->CreateContainer(*pod, Spec(name), "");
          if (!id.ok()) id = engine_->CreateContainer(*pod, Spec(name), "");
          if (!id.ok()) id = engine_->CreateContainer(*pod, Spec(name), "");
          if (id.ok()) ids.push_back(*id);
        }
        std::thread beside([&] {
          for (const std::string& id : ids) {
            engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 99}}).IgnoreError();
          }
          engine_->UpdateSandboxResources(*pod, {.resources = {.cpu_shares = 300}}).IgnoreError();
        });
        for (const std::string& id : ids) EXPECT_TRUE(engine_->StartContainer(id).ok());
        if (round % 3 == 0 && !ids.empty()) {
          EXPECT_TRUE(engine_->RemoveContainer(ids[0]).ok());
        }
        if (round % 2 == 0) {
          EXPECT_TRUE(engine_->StopSandbox(*pod).ok());
        }
        EXPECT_TRUE(engine_->RemoveSandbox(*pod).ok());
        beside.join();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  over = true;
  for (std::thread& plugin : plugins) plugin.join();
  EXPECT_EQ(plugins_.makings(), 0u);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace plimsoll::runtime
