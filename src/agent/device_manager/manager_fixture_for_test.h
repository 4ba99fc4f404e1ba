// For tests: a DeviceManager on directories of its own, and plugins that register with it.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_FIXTURE_FOR_TEST_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/device_manager/device_manager.h"
#include "agent/device_manager/fake_plugin_for_test.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {

inline constexpr char kGpu[] = "example.com/gpu";
inline constexpr char kSerial[] = "example.com/serial";

// A socket that takes connections and never says a word.
inline UniqueFd ListenSilently(const std::string& path) {
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listener.get(), 8), 0);
  return listener;
}

class DeviceManagerTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(); }

  DeviceManager::Options OptionsOf() {
    return {.directory = "/plugins",
            .registry_directory = "/registry",
            .configured =
                {{kSerial,
                  {{.cdi_name = "example.com/serial=0", .node = {}, .numa_node = std::nullopt}}}},
            .expected = expected_,
            .root = dir_.root(),
            .hooks = {.on_change = [this] { ++changes_; },
                      .on_event =
                          [this](const std::string& reason, const std::string& message) {
                            const absl::MutexLock lock(&mutex_);
                            events_.push_back(absl::StrCat(reason, ": ", message));
                          },
                      .on_line =
                          [this](const std::string& line) {
                            const absl::MutexLock lock(&mutex_);
                            lines_.push_back(line);
                          }},
            .counters = &counters_,
            .limits = limits_,
            .now = [this] { return SteadyNow() + std::chrono::seconds(later_seconds_); }};
  }
  void Begin() {
    manager_.reset();
    auto manager = DeviceManager::Start(OptionsOf());
    ASSERT_TRUE(manager.ok()) << manager.status();
    manager_ = *std::move(manager);
  }

  std::string PathOf(const std::string& name) const {
    return absl::StrCat(dir_.path(), "/plugins/", name);
  }
  std::unique_ptr<FakePlugin> Plugin(const std::string& name) const {
    return std::make_unique<FakePlugin>(PathOf(name));
  }
  // Registers like a plugin.
  grpc::Status Register(const std::string& resource, const std::string& endpoint,
                        const std::string& version = "v1beta1") const {
    const auto stub = ::v1beta1::Registration::NewStub(grpc::CreateChannel(
        absl::StrCat("unix:", PathOf("kubelet.sock")), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    ::v1beta1::RegisterRequest request;
    request.set_resource_name(resource);
    request.set_endpoint(endpoint);
    request.set_version(version);
    ::v1beta1::Empty response;
    return stub->Register(&context, request, &response);
  }
  // A plugin that has registered and told of these devices.
  std::unique_ptr<FakePlugin> Registered(const std::vector<std::string>& ids) {
    auto plugin = Plugin("gpu.sock");
    plugin->Tell(DevicesNamed(ids));
    const grpc::Status status = Register(kGpu, "gpu.sock");
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(AwaitCounts(absl::StrCat(ids.size(), "/", ids.size())));
    return plugin;
  }

  // "healthy/all" of kGpu; "" without it.
  std::string Counts(const std::string& resource = kGpu) const {
    const resources::ResourceList all = manager_->Capacity();
    const resources::ResourceList healthy = manager_->Allocatable();
    if (!all.contains(resource)) return "";
    return absl::StrCat(healthy.at(resource).Value(), "/", all.at(resource).Value());
  }
  bool AwaitCounts(const std::string& counts) const {
    return WaitUntil([&] { return Counts() == counts; });
  }
  std::string Events() {
    const absl::MutexLock lock(&mutex_);
    return absl::StrJoin(events_, "\n");
  }
  std::string Lines() {
    const absl::MutexLock lock(&mutex_);
    return absl::StrJoin(lines_, "\n");
  }
  bool AwaitLine(const std::string& part) {
    return WaitUntil([&] { return Lines().find(part) != std::string::npos; });
  }
  bool AwaitEvent(const std::string& part) {
    return WaitUntil([&] { return Events().find(part) != std::string::npos; });
  }

  const TestDir dir_;
  Counters counters_;
  PluginLimits limits_;
  std::set<std::string> expected_;
  std::atomic<int64_t> later_seconds_ = 0;
  std::atomic<int> changes_ = 0;
  absl::Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<DeviceManager> manager_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_MANAGER_FIXTURE_FOR_TEST_H_
