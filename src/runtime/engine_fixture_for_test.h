// A fixture for tests: an engine over stand-ins, with a real store and real namespaces.
#ifndef PLIMSOLL_RUNTIME_ENGINE_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_ENGINE_FIXTURE_FOR_TEST_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "network/network.h"
#include "runtime/engine.h"
#include "runtime/handlers/handler.h"
#include "runtime/objects/fakes_for_test.h"

namespace plimsoll::runtime {

class EngineTest : public ::testing::Test {
 protected:
  EngineTest()
      : host_(*FsRoot::Open("/")),
        run_(*FsRoot::OpenOrCreate(dir_.path() + "/run")),
        store_(*Store::Open(*FsRoot::OpenOrCreate(dir_.path() + "/state"))),
        runtime_(host_) {}
  ~EngineTest() override {
    engine_.reset();
    // A directory that is open can't be unmounted.
    const std::string run = run_.path();
    run_ = host_;
    EXPECT_TRUE(linux::UnmountBelow(host_, run).ok());
  }

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
    runtime_.make_group = [this](const std::string& group) { cgroups_.AddGroup(group); };
    runtime_.remove_group = [this](const std::string& group) {
      cgroups_.Remove(group).IgnoreError();
    };
    ASSERT_TRUE(linux::MakePrivateMountPoint(host_, run_.path()).ok());
    run_ = *FsRoot::Open(run_.path());  // the mounted directory
    StartEngine();
  }
  void StartEngine() {
    engine_.reset();
    EngineOptions options{.host = host_, .state = dir_.root(), .run = run_};
    options.store = &store_;
    options.images = &images_;
    options.cgroups = &cgroups_;
    options.runtime = &runtime_;
    options.events = &events_;
    options.pause_program = pause_program_;
    options.classes = classes_.get();
    options.devices = devices_.get();
    options.handlers = &handlers_;
    options.network = network_.get();
    options.assign_classes = assign_classes_;
    options.show_pictures = show_pictures_;
    options.program_wait = program_wait_;
    options.hooks = hooks_;
    options.observe_phase = [this](const char* phase, absl::Duration) {
      absl::MutexLock lock(&phases_mutex_);
      phases_.push_back(phase);
    };
    auto engine = Engine::Create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  static SandboxSpec PodSpec(const std::string& name = "pod") {
    SandboxSpec spec;
    spec.name = name;
    spec.uid = "uid";
    spec.pod_namespace = "default";
    return spec;
  }
  static SandboxSpec SharedPid() {
    SandboxSpec spec = PodSpec();
    spec.namespaces.pid = NamespaceMode::kPod;
    return spec;
  }
  static ContainerSpec Spec(const std::string& name = "container") {
    ContainerSpec spec;
    spec.name = name;
    spec.image = "busybox";
    return spec;
  }
  ContainerRecord Wait(const std::string& id) {
    auto record = engine_->WaitContainer(id, absl::Now() + absl::Seconds(20));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : ContainerRecord();
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(engine_->ListSandboxes(), ::testing::IsEmpty());
    EXPECT_THAT(*store_.LoadSandboxes(), ::testing::IsEmpty());
    EXPECT_THAT(*store_.LoadContainers(), ::testing::IsEmpty());
    cgroups_.Remove("/plimsoll").IgnoreError();  // kept for the next pod
    EXPECT_THAT(cgroups_.groups(), ::testing::IsEmpty());
    EXPECT_THAT(*run_.List("sandboxes"), ::testing::IsEmpty());
    EXPECT_THAT(*runtime_.ListTraces(), ::testing::IsEmpty());
  }

  TestDir dir_;
  FsRoot host_;
  FsRoot run_;
  FaultyStore store_;
  FakeRuntime runtime_;
  FakeImages images_;
  FakeCgroups cgroups_;
  EventLog events_;
  std::string pause_program_;
  absl::Mutex phases_mutex_;
  std::vector<std::string> phases_;  // read while nothing is made
  std::unique_ptr<qos::Registry> classes_;
  std::unique_ptr<cdi::Registry> devices_;
  HandlerMap handlers_;
  Hooks* hooks_ = nullptr;
  std::unique_ptr<network::Network> network_;
  bool assign_classes_ = true;
  bool show_pictures_ = true;
  absl::Duration program_wait_ = absl::Seconds(5);
  std::unique_ptr<Engine> engine_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_FIXTURE_FOR_TEST_H_
