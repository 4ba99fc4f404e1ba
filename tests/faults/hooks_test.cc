// For every N, with plugins: the Nth action of a call fails. Then the hooks are undone exactly if
// they were asked, and nothing is left behind.
#include "faults/faults_fixture.h"
#include "runtime/pod/fake_hooks_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// With a plugin that changes each container.
class HookedFaultsTest : public ContainerFaultsTest {
 protected:
  HookedFaultsTest() { hooks_ = &plugins_; }
  void SetUp() override {
    ContainerFaultsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string group = engine_->GetSandbox(pod_)->cgroup_path + "/by-plugin";
    plugins_.adjust = [group](runtime::ContainerSpec* spec) {
      spec->environment.emplace_back("BY", "plugin");
      spec->resources.memory_limit_bytes = 64 << 20;
      spec->extras.cgroups_path = group;
      spec->changed_by = {{"env", "BY", "10-a"}};
    };
  }
  // The result of `call`, whose hook must be undone if and only if the call failed after it.
  absl::Status Undone(const std::string& hook, const std::string& undo,
                      const std::function<absl::Status()>& call) {
    plugins_.Forget();
    const absl::Status status = call();
    bool is_asked = false;
    int undone = 0;
    for (const std::string& each : plugins_.calls()) {
      is_asked |= absl::StartsWith(each, hook);
      undone += absl::StartsWith(each, undo);
    }
    EXPECT_EQ(undone, is_asked && !status.ok() ? 1 : 0);
    EXPECT_EQ(plugins_.makings(), 0u);
    return status;
  }
  absl::Status CreateHooked() {
    return Undone("CreateContainer", "UndoContainer",
                  [&] { return engine_->CreateContainer(pod_, Spec(), "client").status(); });
  }

  runtime::FakeHooks plugins_;
};

TEST_F(HookedFaultsTest, CreateContainer) {
  FailEach({.call = [&] { return CreateHooked(); },
            .undo =
                [&] {
                  ASSERT_EQ(engine_->ListContainers().size(), 1u);
                  const std::string group = engine_->ListContainers()[0].cgroup_path;
                  EXPECT_TRUE(absl::EndsWith(group, "/by-plugin"));
                  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 64 << 20);
                  RemoveContainers();
                }});
}

TEST_F(HookedFaultsTest, CreateContainerAndItsUndo) {
  FailEachUndo({.call = [&] { return CreateHooked(); }, .undo = [&] { RemoveContainers(); }});
}

TEST_F(HookedFaultsTest, RunSandbox) {
  runtime::SandboxSpec spec = PodSpec();
  spec.name = "other";
  spec.namespaces.pid = runtime::NamespaceMode::kPod;
  FailEach({.call =
                [&] {
                  return Undone("RunSandbox", "UndoSandbox",
                                [&] { return engine_->RunSandbox(spec, "client").status(); });
                },
            .undo =
                [&] {
                  for (const auto& pod : engine_->ListSandboxes()) {
                    if (pod.id != pod_) ExpectOk(engine_->RemoveSandbox(pod.id));
                  }
                }});
}

TEST_F(HookedFaultsTest, WhatAPluginRefusesLeavesNothing) {
  const Inventory before = TakeInventory(scope_);
  runtime::SandboxSpec spec = PodSpec();
  spec.name = "other";
  plugins_.faults.FailNext("RunSandbox", absl::InternalError("no"));
  EXPECT_FALSE(engine_->RunSandbox(spec, "").ok());
  ExpectNothingLeft(before);
  plugins_.faults.FailNext("CreateContainer", absl::InternalError("no"));
  EXPECT_FALSE(CreateHooked().ok());
  ExpectNothingLeft(before);
  const auto adjust = plugins_.adjust;
  plugins_.adjust = [](runtime::ContainerSpec* changed) {
    changed->resources.cpuset_cpus = "4000";
    changed->changed_by = {{"linux.resources.cpu.cpus", "", "10-a"}};
  };
  EXPECT_THAT(std::string(CreateHooked().message()), HasSubstr("plugin 10-a"));
  ExpectNothingLeft(before);
  plugins_.adjust = adjust;
  id_ = Create(pod_);
  const Inventory created = TakeInventory(scope_);
  plugins_.faults.FailNext("StartContainer", absl::InternalError("no"));
  EXPECT_FALSE(engine_->StartContainer(id_).ok());
  ExpectNothingLeft(created);
  ExpectOk(engine_->StartContainer(id_));
  RemoveContainers();
  ExpectNothingLeft(before);
}

}  // namespace
}  // namespace plimsoll::testing
