// For tests: the room with a fake engine, pods and containers that live as the engine's do, and
// plugins on the real socket.
#ifndef PLIMSOLL_NRI_NRI_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_NRI_NRI_FIXTURE_FOR_TEST_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/fake_engine_for_test.h"
#include "nri/nri.h"
#include "nri/test_plugin_for_test.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::nri {

class NriFixture : public ::testing::Test {
 protected:
  NriFixture() {
    options_.config.plugin_dir = dir_.path() + "/plugins";
    options_.config.config_dir = dir_.path() + "/conf.d";
    options_.socket = dir_.path() + "/nri/nri.sock";
    options_.version = "1.2.3";
    options_.events = &events_;
    options_.tell = [this](bool, const std::string& plugin, const std::string& text) {
      told_.Add(absl::StrCat(plugin, ": ", text));
    };
  }
  ~NriFixture() override {
    if (nri_ != nullptr) nri_->Stop();
    for (const auto& plugin : plugins_) {
      if (plugin->session != nullptr) plugin->session->Close();
    }
  }

  void Start() {
    absl::StatusOr<std::unique_ptr<Nri>> nri = Nri::Make(options_);
    ASSERT_TRUE(nri.ok()) << nri.status();
    nri_ = *std::move(nri);
    ASSERT_EQ(nri_->Start(&engine_), absl::OkStatus());
  }

  // A plugin that isn't connected yet. Lives as long as the test.
  TestPlugin& Add(const std::string& full_name) {
    plugins_.push_back(std::make_unique<TestPlugin>(full_name, &log_));
    return *plugins_.back();
  }
  absl::Status Connect(TestPlugin& plugin) {
    PluginOptions options;
    options.index = plugin.name.substr(0, 2);
    options.name = plugin.name.substr(3);
    options.socket = options_.socket;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Start(plugin, std::move(options));
    const absl::Status status = session.status();
    if (status.ok()) plugin.session = *std::move(session);
    return status;
  }
  // A plugin that gets events.
  TestPlugin& Join(const std::string& full_name) {
    TestPlugin& plugin = Add(full_name);
    Join(plugin);
    return plugin;
  }
  void Join(TestPlugin& plugin) {
    ASSERT_EQ(Connect(plugin), absl::OkStatus());
    ASSERT_TRUE(WaitUntil([&] { return StateOf(plugin.name) == PluginState::kReady; }))
        << plugin.name << ": " << absl::StrJoin(told_.calls(), "\n");
  }
  void Leave(TestPlugin& plugin) {
    plugin.session->Close();
    ASSERT_TRUE(WaitUntil([&] { return StateOf(plugin.name) != PluginState::kReady; }));
  }
  PluginReport ReportOf(const std::string& name) const {
    for (const PluginReport& report : nri_->Report()) {
      if (report.name == name) return report;
    }
    return {};
  }
  PluginState StateOf(const std::string& name) const { return ReportOf(name).state; }

  // --- the engine's part, with its events.
  static runtime::HookedPod Pod(const std::string& id) {
    runtime::HookedPod pod;
    pod.record.id = id;
    pod.record.state = runtime::SandboxState::kReady;
    pod.record.spec.name = id;
    pod.record.spec.pod_namespace = "default";
    pod.record.spec.uid = id + "-uid";
    return pod;
  }
  static runtime::HookedContainer Container(const std::string& pod, const std::string& id) {
    runtime::HookedContainer container;
    container.record.id = id;
    container.record.sandbox_id = pod;
    container.record.state = runtime::ContainerState::kCreated;
    container.record.spec.name = id;
    return container;
  }
  absl::Status RunPod(const std::string& id) {
    const auto making = nri_->Making(id);
    if (nri_->Active()) {
      if (absl::Status status = nri_->RunSandbox(Pod(id)); !status.ok()) {
        nri_->UndoSandbox(id);
        return status;
      }
    }
    ShowPod(id);
    return absl::OkStatus();
  }
  void ShowPod(const std::string& id) {
    engine_.PutSandbox(Pod(id).record);
    events_.Add(runtime::EventType::kSandboxStarted, Pod(id).record, "");
  }
  absl::Status Create(const std::string& pod, const std::string& id) {
    return Create(pod, id, [] { return absl::OkStatus(); });
  }
  // `make`: within the making, after the hook.
  absl::Status Create(const std::string& pod, const std::string& id,
                      const std::function<absl::Status()>& make) {
    const auto making = nri_->Making(id);
    runtime::HookedContainer container = Container(pod, id);
    const bool active = nri_->Active();
    absl::Status status;
    if (active) {
      absl::StatusOr<runtime::ContainerSpec> spec = nri_->CreateContainer(Pod(pod), container);
      status = spec.status();
      if (spec.ok()) container.record.spec = *std::move(spec);
    }
    if (status.ok()) status = make();
    if (!status.ok()) {
      if (active) nri_->UndoContainer(id);
      return status;
    }
    engine_.PutContainer(container.record);
    events_.Add(runtime::EventType::kContainerCreated, container.record, "");
    return status;
  }
  absl::Status StartContainer(const std::string& id) {
    runtime::ContainerRecord record = *engine_.GetContainer(id);
    if (nri_->Active()) {
      absl::Status status = nri_->StartContainer(Pod(record.sandbox_id), {record});
      if (!status.ok()) return status;
    }
    record.state = runtime::ContainerState::kRunning;
    engine_.PutContainer(record);
    events_.Add(runtime::EventType::kContainerStarted, record, "");
    return absl::OkStatus();
  }
  void Exit(const std::string& id) {
    runtime::ContainerRecord record = *engine_.GetContainer(id);
    record.state = runtime::ContainerState::kExited;
    engine_.PutContainer(record);
    events_.Add(runtime::EventType::kContainerStopped, record, "");
  }
  void RemoveContainer(const std::string& id) {
    const runtime::ContainerRecord record = *engine_.GetContainer(id);
    engine_.Erase(id);
    events_.Add(runtime::EventType::kContainerRemoved, record, "");
  }
  void StopPod(const std::string& id) {
    if (nri_->Active()) nri_->StopSandbox(Pod(id));
  }
  void RemovePod(const std::string& id) {
    engine_.Erase(id);
    events_.Add(runtime::EventType::kSandboxRemoved, Pod(id).record, "");
  }
  absl::Status Update(const std::string& id, const runtime::ResourceUpdate& update) {
    const runtime::ContainerRecord record = *engine_.GetContainer(id);
    return nri_->UpdateContainer(Pod(record.sandbox_id), {record}, update,
                                 [&](const runtime::ResourceUpdate& wanted) {
                                   applied_.push_back(wanted);
                                   return apply_result_;
                                 });
  }
  // Events told until now have reached the plugins after this.
  void Flush() {
    if (nri_->Active()) nri_->SandboxUpdated(Pod("none"));
  }
  // Within the patience of WaitUntil.
  bool WasTold(const std::string& part) const {
    return WaitUntil([&] { return IsTold(part); });
  }
  bool IsTold(const std::string& part) const {
    for (const std::string& line : told_.calls()) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

  TestDir dir_;
  CallLog told_;  // lines for people
  CallLog log_;   // calls of all plugins
  FakeEngine engine_;
  runtime::EventLog events_;
  Options options_{.host = *FsRoot::Open("/")};
  std::vector<std::unique_ptr<TestPlugin>> plugins_;
  std::unique_ptr<Nri> nri_;
  std::vector<runtime::ResourceUpdate> applied_;
  absl::Status apply_result_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_NRI_FIXTURE_FOR_TEST_H_
