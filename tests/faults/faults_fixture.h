// Fixtures for tests of faults: the engine and the image service as libraries, over the real kernel
// and crun, with actions that fail.
#ifndef PLIMSOLL_TESTS_FAULTS_FAULTS_FIXTURE_H_
#define PLIMSOLL_TESTS_FAULTS_FAULTS_FIXTURE_H_

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "faults/injector.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/leftovers.h"
#include "linux/namespaces/mounts.h"
#include "network/network.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::testing {

// More than any call here has; a loop that gets there wouldn't end.
inline constexpr int kMostActions = 400;

class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "containers need root";
    ASSERT_TRUE(BecomeChildSubreaper().ok());
    const std::string run = dir_.path() + "/run";
    ASSERT_TRUE(dir_.root().MakeDirs("run", 0711).ok());
    ASSERT_TRUE(linux::MakePrivateMountPoint(Host(), run).ok());
    const FsRoot state = *FsRoot::OpenOrCreate(dir_.path() + "/state");
    store_ = *runtime::Store::Open(state);
    auto images = image::ImageService::Open(*FsRoot::OpenOrCreate(dir_.path() + "/state/images"),
                                            store_.get(), {.host = Host()});
    ASSERT_TRUE(images.ok()) << images.status();
    images_ = *std::move(images);
    runtime::OciOptions oci{.host = Host(), .state = state, .run = *FsRoot::Open(run)};
    oci.cgroups = &Cgroups();
    auto runtime = runtime::ContainerRuntime::Create(oci);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
    runtime::EngineOptions options{.host = Host(), .state = state, .run = *FsRoot::Open(run)};
    options.default_cgroup_parent = scope_.cgroup;
    options.store = store_.get();
    options.images = images_.get();
    options.cgroups = &Cgroups();
    options.runtime = runtime_.get();
    OpenNetwork(state);
    options.network = network_.get();
    options.events = &events_;
    options.hooks = hooks_;
    auto engine = runtime::Engine::Create(std::move(options));
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    ASSERT_TRUE(MakeBusyboxRootfs(*FsRoot::OpenOrCreate(rootfs_, 0755)).ok());
    // The group shared by all is made with the first pod and stays.
    ASSERT_TRUE(Cgroups().Create(scope_.cgroup).ok());
  }
  virtual void OpenNetwork(const FsRoot&) {}
  void TearDown() override {
    Disarm();
    engine_.reset();
    network_.reset();
    runtime_.reset();
    images_.reset();
    store_.reset();
    Cgroups().KillAll(scope_.cgroup, absl::Now() + absl::Seconds(10)).IgnoreError();
    Cgroups().Remove(scope_.cgroup).IgnoreError();
    EXPECT_TRUE(linux::UnmountBelow(Host(), dir_.path() + "/run").ok());
  }

  void ImportBusybox() {
    const auto imported = images_->Import(rootfs_, "busybox", nullptr);
    ASSERT_TRUE(imported.ok()) << imported.status();
  }
  static runtime::SandboxSpec PodSpec() {
    runtime::SandboxSpec spec;
    spec.name = "pod";
    spec.uid = "uid";
    spec.pod_namespace = "default";
    spec.sysctls = {{"net.ipv4.ip_local_port_range", "2000 3000"}};
    spec.resources.memory_limit_bytes = 256 << 20;
    return spec;
  }
  runtime::ContainerSpec Spec() {
    runtime::ContainerSpec spec;
    spec.name = "container";
    spec.image = "busybox";
    spec.command = {"/bin/sleep", "1000"};
    spec.log_path = dir_.path() + "/logs/container.log";
    return spec;
  }
  std::string RunPod() {
    const auto id = engine_->RunSandbox(PodSpec(), "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::string Create(const std::string& pod) {
    const auto id = engine_->CreateContainer(pod, Spec(), "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::string Start(const std::string& pod) {
    const std::string id = Create(pod);
    const absl::Status started = engine_->StartContainer(id);
    EXPECT_TRUE(started.ok()) << started;
    AwaitProgram(id);
    return id;
  }
  // Before that its init is still crun, whose command line differs: an inventory would see one
  // process gone and another come.
  void AwaitProgram(const std::string& id) {
    const auto record = engine_->GetContainer(id);
    ASSERT_TRUE(record.ok()) << record.status();
    const std::string file = absl::StrCat("proc/", record->init.pid, "/cmdline");
    const FsRoot host = *FsRoot::Open("/");
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (host.Read(file).value_or("").find("sleep") == std::string::npos) {
      ASSERT_LT(absl::Now(), deadline) << file << " never was the container's program";
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  // In hierarchies without limits crun makes the pod's group and the shared one, which go with the
  // pod or stay. Made beforehand, so that they don't count.
  void MakeGroups(const std::string& pod) { ExpectOk(engine_->RemoveContainer(Create(pod))); }
  void ExpectOk(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  void ExpectNothingLeft(const Inventory& before) {
    EXPECT_THAT(AwaitNothingLeft(scope_, before, absl::Seconds(5)), ::testing::IsEmpty());
  }

  // A call that goes on without the failed action logs an event.
  bool IsInEvents(uint64_t after) const {
    const std::vector<runtime::Event> events = events_.Since(after);
    return std::any_of(events.begin(), events.end(), [](const runtime::Event& event) {
      return event.type == runtime::EventType::kWarning &&
             absl::StrContains(event.message, kInjected);
    });
  }

  struct Case {
    std::function<void()> prepare;       // before each call, without faults
    std::function<absl::Status()> call;  // its Nth action fails
    std::function<void()> undo;          // after the call has worked
    // A failed call must leave nothing new. Not required of a removal, which leaves the rest to the
    // next call.
    bool leaves_nothing = true;
    std::function<absl::Status()> retry = nullptr;  // if it differs from the call
    // Failures in other threads are reported too: the call waits for all the threads that it
    // starts.
    bool waits_for_threads = false;
  };
  void FailEach(const Case& test) {
    int nth = 0;
    int tolerated = 0;
    while (++nth < kMostActions && !HasFailure()) {
      const Inventory before_all = TakeInventory(scope_);
      if (test.prepare) test.prepare();
      const Inventory before = TakeInventory(scope_);
      const std::vector<runtime::Event> events = events_.Since(0);
      Arm(nth);
      const absl::Status status = test.call();
      const Fired fired = Disarm();
      SCOPED_TRACE(absl::StrCat("action ", nth, ": ", fired.action));
      if (!fired.fired) {
        ExpectOk(status);
        test.undo();
        break;
      }
      if (status.ok()) {
        EXPECT_TRUE(fired.is_cleanup || (fired.elsewhere && !test.waits_for_threads) ||
                    IsInEvents(events.empty() ? 0 : events.back().sequence))
            << "failed, and nobody was told";
        ++tolerated;
      } else {
        EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(kInjected));
        if (test.leaves_nothing) ExpectNothingLeft(before);
        ExpectOk(test.retry ? test.retry() : test.call());
      }
      test.undo();
      ExpectNothingLeft(before_all);
    }
    EXPECT_GT(nth, 1) << "the call has no action that could fail";
    EXPECT_LT(nth, kMostActions);
    GTEST_LOG_(INFO) << nth - 1 << " actions failed one by one, " << tolerated << " of them to be "
                     << "done without";
  }
  // Fails like FailEach, but each action of the undoing fails too, one at a time: then the
  // leftovers are still known, and `undo` can remove them.
  void FailEachUndo(const Case& test) {
    int nth = 0;
    int undone = 0;
    while (++nth < kMostActions && !HasFailure()) {
      Fired fired;
      int undo_nth = 0;
      do {
        const Inventory before = TakeInventory(scope_);
        Arm(nth, ++undo_nth);
        const absl::Status status = test.call();
        fired = Disarm();
        SCOPED_TRACE(absl::StrCat("action ", nth, ": ", fired.action, ", then ", undo_nth, ": ",
                                  fired.undo_action));
        EXPECT_TRUE(!fired.undo_fired || !status.ok() || fired.is_cleanup || fired.elsewhere);
        undone += fired.undo_fired;
        test.undo();
        ExpectNothingLeft(before);
      } while (fired.undo_fired && undo_nth < kMostActions && !HasFailure());
      if (!fired.fired) break;
    }
    EXPECT_GT(undone, 0);
    EXPECT_LT(nth, kMostActions);
    GTEST_LOG_(INFO) << nth - 1 << " actions failed, and " << undone << " of what undoes them";
  }

  TestDir dir_;
  const std::string rootfs_ = dir_.path() + "/busybox";
  InventoryScope scope_{.directories = {dir_.path() + "/run", dir_.path() + "/state"},
                        .cgroup = absl::StrCat("/plimsoll-test-faults-", getpid()),
                        .database = dir_.path() + "/state/plimsoll.db",
                        .holder = getpid()};
  runtime::EventLog events_{1024};
  runtime::Hooks* hooks_ = nullptr;
  std::unique_ptr<runtime::Store> store_;
  std::unique_ptr<image::ImageService> images_;
  std::unique_ptr<runtime::ContainerRuntime> runtime_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<runtime::Engine> engine_;
};

class ContainerFaultsTest : public FaultsTest {
 protected:
  void SetUp() override {
    FaultsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ImportBusybox();
    pod_ = RunPod();
    MakeGroups(pod_);
  }
  void TearDown() override {
    Disarm();
    if (engine_ != nullptr && !pod_.empty()) ExpectOk(engine_->RemoveSandbox(pod_));
    FaultsTest::TearDown();
  }
  void RemoveContainers() {
    for (const auto& container : engine_->ListContainers()) {
      ExpectOk(engine_->RemoveContainer(container.id));
    }
  }

  std::string pod_;
  std::string id_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_FAULTS_FAULTS_FIXTURE_H_
