#include "agent/device_manager/device_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/device_manager/fake_plugin_for_test.h"
#include "base/connection.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGpu[] = "example.com/gpu";
constexpr char kSerial[] = "example.com/serial";

// A socket that takes connections and never says a word.
UniqueFd ListenSilently(const std::string& path) {
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
  // As a plugin does.
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
  std::unique_ptr<DeviceManager> manager_;
};

TEST_F(DeviceManagerTest, APluginRegistersAndItsDevicesAreTheNodes) {
  const auto plugin = Registered({"a", "b"});
  EXPECT_TRUE(WaitUntil([&] { return changes_ > 0; }));
  EXPECT_EQ(Counts(kSerial), "1/1");
  ::v1beta1::ListAndWatchResponse list = DevicesNamed({"a", "b", "c"});
  list.mutable_devices(0)->set_health("Unhealthy");
  list.mutable_devices(1)->mutable_topology()->add_nodes()->set_id(1);
  plugin->Tell(list);
  ASSERT_TRUE(AwaitCounts("2/3"));
  EXPECT_THAT(manager_->Stock().at(kGpu).devices,
              ElementsAre(Device{"a", false, std::nullopt}, Device{"b", true, NodeMask::Of(1)},
                          Device{"c", true, std::nullopt}));
  EXPECT_TRUE(manager_->Stock().contains(kSerial));
  EXPECT_EQ(Events(), "");
  const auto counts = counters_.Counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].values.at({kGpu, ""}), 1u);
}

TEST_F(DeviceManagerTest, SocketAndDirectoryAreRootsAlone) {
  struct stat info = {};
  ASSERT_EQ(stat((dir_.path() + "/plugins").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750u);
  ASSERT_EQ(stat(PathOf("kubelet.sock").c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  manager_.reset();
  EXPECT_NE(stat(PathOf("kubelet.sock").c_str(), &info), 0) << "it is left behind";
}

TEST_F(DeviceManagerTest, SocketsOfEarlierPluginsAreRemovedAtTheStart) {
  const auto plugin = Plugin("gpu.sock");
  ASSERT_TRUE(dir_.root().ReplaceFile("plugins/kubelet_internal_checkpoint", "{}").ok());
  ASSERT_TRUE(dir_.root().MakeDirs("plugins/directory").ok());
  ASSERT_EQ(symlink("/dev/null", PathOf("link").c_str()), 0);
  Begin();
  EXPECT_THAT(*dir_.root().List("plugins"),
              ElementsAre("directory", "kubelet.sock", "kubelet_internal_checkpoint", "link"));
}

TEST_F(DeviceManagerTest, ARunningKubeletIsLeftAlone) {
  const auto second = DeviceManager::Start(OptionsOf());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("kubelet.sock"));
  const auto plugin = Registered({"a"});
}

TEST_F(DeviceManagerTest, APathThatIsTooLongIsRefused) {
  manager_.reset();
  DeviceManager::Options options = OptionsOf();
  options.directory = "/" + std::string(108, 'x');
  EXPECT_EQ(DeviceManager::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DeviceManagerTest, WithoutDirectoriesThereAreTheConfigurationsDevices) {
  manager_.reset();
  DeviceManager::Options options = OptionsOf();
  options.directory.clear();
  options.registry_directory.clear();
  const auto manager = DeviceManager::Start(options);
  ASSERT_TRUE(manager.ok()) << manager.status();
  EXPECT_EQ((*manager)->Stock().size(), 1u);
}

TEST_F(DeviceManagerTest, ASocketThatIsRemovedIsMadeAgain) {
  const auto plugin = Registered({"a"});
  ASSERT_EQ(unlink(PathOf("kubelet.sock").c_str()), 0);
  EXPECT_TRUE(AwaitEvent("DevicePluginSocketRemoved"));
  EXPECT_TRUE(Register(kGpu, "gpu.sock").ok());
}

TEST_F(DeviceManagerTest, HostileRegistrationsAreRefused) {
  const auto plugin = Plugin("gpu.sock");
  struct Case {
    std::string resource, endpoint, version, part;
  };
  const std::vector<Case> cases = {
      {kGpu, "gpu.sock", "v1alpha1", "API version \"v1alpha1\" is not supported"},
      {kGpu, "gpu.sock", "", "API version \"\""},
      {"gpu", "gpu.sock", "v1beta1", "\"gpu\" is no extended resource"},
      {"cpu", "gpu.sock", "v1beta1", "no extended resource"},
      {"kubernetes.io/gpu", "gpu.sock", "v1beta1", "no extended resource"},
      {"example.com/g\npu", "gpu.sock", "v1beta1", "\"example.com/g\\npu\""},
      {kGpu, "", "v1beta1", "endpoint \"\""},
      {kGpu, "..", "v1beta1", "endpoint \"..\""},
      {kGpu, "../plugins/gpu.sock", "v1beta1", "file name of a socket"},
      {kGpu, "/tmp/gpu.sock", "v1beta1", "file name of a socket"},
      {kGpu, std::string("gpu.sock\0x", 10), "v1beta1", "file name of a socket"},
      {kGpu, "kubelet.sock", "v1beta1", "not the plugin's"},
      {kGpu, "missing.sock", "v1beta1", "missing.sock"},
      {kGpu, std::string(300, 'x'), "v1beta1", "file name of a socket"},
      {kSerial, "gpu.sock", "v1beta1", "the agent's configuration"},
  };
  for (const Case& each : cases) {
    const grpc::Status status = Register(each.resource, each.endpoint, each.version);
    EXPECT_FALSE(status.ok()) << each.part;
    EXPECT_THAT(status.error_message(), HasSubstr(each.part));
    EXPECT_TRUE(AwaitEvent(each.part)) << each.part;
  }
  EXPECT_EQ(manager_->Stock().size(), 1u);
  EXPECT_TRUE(Register(kGpu, "gpu.sock").ok()) << "and goes on";
}

TEST_F(DeviceManagerTest, AnEndpointThatIsNoSocketIsRefused) {
  ASSERT_TRUE(dir_.root().ReplaceFile("plugins/file.sock", "x").ok());
  const auto plugin = std::make_unique<FakePlugin>(dir_.path() + "/elsewhere.sock");
  ASSERT_EQ(symlink((dir_.path() + "/elsewhere.sock").c_str(), PathOf("link.sock").c_str()), 0);
  EXPECT_THAT(Register(kGpu, "file.sock").error_message(), HasSubstr("is no socket"));
  EXPECT_FALSE(Register(kGpu, "link.sock").ok());
  { const UniqueFd dead = ListenSilently(PathOf("dead.sock")); }
  EXPECT_THAT(Register(kGpu, "dead.sock").error_message(), HasSubstr("no process listens"));
}

TEST_F(DeviceManagerTest, APluginWithoutOptionsIsRefused) {
  const auto plugin = Plugin("gpu.sock");
  plugin->options_failure = grpc::Status(grpc::StatusCode::INTERNAL, "broken");
  EXPECT_EQ(Register(kGpu, "gpu.sock").error_message(),
            "failed to get device plugin options: rpc error: code = Internal desc = broken");
  EXPECT_TRUE(AwaitEvent("broken"));
}

TEST_F(DeviceManagerTest, APluginThatNeverAnswersHoldsUpNobody) {
  limits_ = {.options = absl::Milliseconds(50),
             .prefer = absl::Milliseconds(50),
             .allocate = absl::Milliseconds(50),
             .pre_start = absl::Milliseconds(50)};
  Begin();
  const UniqueFd silent = ListenSilently(PathOf("silent.sock"));
  EXPECT_EQ(Register(kGpu, "silent.sock").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  const auto plugin = Plugin("gpu.sock");
  plugin->options.set_pre_start_required(true);
  plugin->options.set_get_preferred_allocation_available(true);
  plugin->Tell(DevicesNamed({"a"}));
  // Under the limit of 50 ms a busy machine may need several attempts.
  ASSERT_TRUE(WaitUntil([&] { return Register(kGpu, "gpu.sock").ok(); }));
  ASSERT_TRUE(AwaitCounts("1/1"));
  plugin->Hang();
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(manager_->Prefer(kGpu, {"a"}, {}, 1).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(manager_->PreStart(kGpu, {"a"}).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(DeviceManagerTest, AnEndEndsCallsUnderWay) {
  const auto plugin = Registered({"a"});
  plugin->Hang();
  std::thread caller([&] {
    EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kUnavailable);
  });
  EXPECT_TRUE(WaitUntil([&] { return !plugin->asked().empty(); }));
  manager_->Stop();
  caller.join();
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceManagerTest, TheManagerEndsWhileAPluginRegisters) {
  const UniqueFd silent = ListenSilently(PathOf("silent.sock"));
  std::thread plugin([&] { EXPECT_FALSE(Register(kGpu, "silent.sock").ok()); });
  // The manager has connected.
  UniqueFd connection(accept4(silent.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(connection.valid());
  manager_.reset();
  plugin.join();
}

TEST_F(DeviceManagerTest, Allocate) {
  auto plugin = Plugin("gpu.sock");
  auto* const answer = plugin->allocated.add_container_responses();
  (*answer->mutable_envs())["GPU"] = "a";
  answer->add_cdi_devices()->set_name("example.com/gpu=a");
  plugin->Tell(DevicesNamed({"a", "b"}));
  ASSERT_TRUE(Register(kGpu, "gpu.sock").ok());
  ASSERT_TRUE(AwaitCounts("2/2"));
  const auto given = manager_->Allocate(kGpu, {"b", "a"});
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->env.at("GPU"), "a");
  EXPECT_THAT(given->cdi_names, ElementsAre("example.com/gpu=a"));
  EXPECT_THAT(plugin->asked(), ElementsAre("allocate container_requests { devices_ids: \"b\" "
                                           "devices_ids: \"a\" }"));
  ASSERT_EQ(counters_.AllTimes().size(), 1u);
  EXPECT_EQ(counters_.AllTimes()[0].values.at({kGpu, ""}).count, 1u);
  EXPECT_TRUE(manager_->PreStart(kGpu, {"a"}).ok()) << "it doesn't ask for it";
  EXPECT_THAT(*manager_->Prefer(kGpu, {"a"}, {}, 1), IsEmpty());
  EXPECT_EQ(plugin->asked().size(), 1u);
}

TEST_F(DeviceManagerTest, TheAgentAnswersForConfiguredDevices) {
  EXPECT_THAT(manager_->Allocate(kSerial, {"example.com/serial=0"})->cdi_names,
              ElementsAre("example.com/serial=0"));
  EXPECT_EQ(manager_->Allocate(kSerial, {"example.com/serial=1"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(manager_->PreStart(kSerial, {"example.com/serial=0"}).ok());
  EXPECT_THAT(*manager_->Prefer(kSerial, {"example.com/serial=0"}, {}, 1), IsEmpty());
}

TEST_F(DeviceManagerTest, ARefusalIsShownAsKubeletShowsIt) {
  const auto plugin = Registered({"a"});
  plugin->failure = grpc::Status(grpc::StatusCode::UNKNOWN, "no\nsuch");
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status(),
            absl::UnknownError("rpc error: code = Unknown desc = no\\nsuch"));
  plugin->failure = grpc::Status(grpc::StatusCode::OK, "");
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status(),
            absl::InvalidArgumentError("no containers return in allocation response"));
}

TEST_F(DeviceManagerTest, PreferAndPreStart) {
  auto plugin = Plugin("gpu.sock");
  plugin->options.set_pre_start_required(true);
  plugin->options.set_get_preferred_allocation_available(true);
  plugin->preferred.add_container_responses()->add_deviceids("b");
  plugin->Tell(DevicesNamed({"a", "b"}));
  ASSERT_TRUE(Register(kGpu, "gpu.sock").ok());
  ASSERT_TRUE(AwaitCounts("2/2"));
  EXPECT_TRUE(manager_->Stock().at(kGpu).has_preference);
  EXPECT_THAT(*manager_->Prefer(kGpu, {"a", "b"}, {"a"}, int64_t{1} << 40), ElementsAre("b"));
  EXPECT_TRUE(manager_->PreStart(kGpu, {"b"}).ok());
  EXPECT_THAT(plugin->asked(),
              ElementsAre("prefer container_requests { available_deviceIDs: \"a\" "
                          "available_deviceIDs: \"b\" must_include_deviceIDs: \"a\" "
                          "allocation_size: 2147483647 }",
                          "start devices_ids: \"b\""));
  plugin->failure = grpc::Status(grpc::StatusCode::INTERNAL, "no reset");
  EXPECT_EQ(manager_->PreStart(kGpu, {"b"}),
            absl::InternalError("device plugin PreStartContainer rpc failed with err: rpc error: "
                                "code = Internal desc = no reset"));
  EXPECT_EQ(manager_->Prefer(kGpu, {"a"}, {}, 1).status(),
            absl::InternalError("rpc error: code = Internal desc = no reset"));
}

TEST_F(DeviceManagerTest, APluginThatGoesLeavesItsDevicesUnhealthyForAWhile) {
  auto plugin = Registered({"a"});
  plugin.reset();
  ASSERT_TRUE(AwaitCounts("0/1"));
  EXPECT_TRUE(AwaitEvent("DevicePluginGone: the device plugin of example.com/gpu has gone"));
  EXPECT_FALSE(manager_->Stock().at(kGpu).is_served);
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(manager_->PreStart(kGpu, {"a"}).ok()) << "it never asked for it";
  plugin = Registered({"a"});
  plugin.reset();
  ASSERT_TRUE(AwaitCounts("0/1"));
  later_seconds_ = 301;
  // Any news makes the manager look at its clock.
  EXPECT_FALSE(Register("wrong", "x").ok());
  EXPECT_TRUE(AwaitCounts(""));
  EXPECT_EQ(manager_->PreStart(kGpu, {"a"}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceManagerTest, AStreamThatEndsIsAPluginThatGoes) {
  for (const grpc::Status& end :
       {grpc::Status(grpc::StatusCode::OK, ""), grpc::Status(grpc::StatusCode::INTERNAL, "oops")}) {
    const auto plugin = Registered({"a"});
    plugin->EndStream(end);
    EXPECT_TRUE(AwaitCounts("0/1"));
  }
  EXPECT_TRUE(AwaitEvent("code = Internal desc = oops"));
}

TEST_F(DeviceManagerTest, ARegistrationReplacesTheEarlierOne) {
  const auto first = Registered({"a"});
  const auto second = Plugin("other.sock");
  second->Tell(DevicesNamed({"b", "c"}));
  ASSERT_TRUE(Register(kGpu, "other.sock").ok());
  ASSERT_TRUE(AwaitCounts("2/2"));
  first->Tell(DevicesNamed({"x", "y", "z"}));
  first->End();
  EXPECT_TRUE(manager_->Allocate(kGpu, {"b"}).status().code() ==
              absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(second->asked().size(), 1u);
  EXPECT_EQ(Counts(), "2/2");
  // A registration that fails changes nothing.
  EXPECT_FALSE(Register(kGpu, "missing.sock").ok());
  EXPECT_EQ(Counts(), "2/2");
}

TEST_F(DeviceManagerTest, APluginThatFloodsIsReadSlowly) {
  const auto plugin = Plugin("gpu.sock");
  plugin->floods = true;
  plugin->Tell(DevicesNamed(std::vector<std::string>(1000, std::string(1000, 'x'))));
  ASSERT_TRUE(Register(kGpu, "gpu.sock").ok());
  ASSERT_TRUE(AwaitCounts("1/1"));
  // What was sent before is bounded by gRPC's window; the newest list comes through.
  plugin->Tell(DevicesNamed({"a", "b"}));
  EXPECT_TRUE(AwaitCounts("2/2"));
  EXPECT_EQ(Counts(kSerial), "1/1");
}

TEST_F(DeviceManagerTest, AListThatIsTooLargeEndsThePlugin) {
  const auto plugin = Registered({"a"});
  plugin->Tell(DevicesNamed(std::vector<std::string>(5000, std::string(1000, 'x'))));
  EXPECT_TRUE(AwaitCounts("0/1"));
  EXPECT_TRUE(AwaitEvent("ResourceExhausted"));
}

TEST_F(DeviceManagerTest, FaultyDevicesAreToldOnce) {
  const auto plugin = Registered({"a"});
  plugin->Tell(DevicesNamed({"a", "", "b"}));
  ASSERT_TRUE(AwaitCounts("2/2"));
  plugin->Tell(DevicesNamed({"a", "", "b", "c"}));
  ASSERT_TRUE(AwaitCounts("3/3"));
  EXPECT_TRUE(AwaitEvent("DevicePluginFault"));
  plugin->EndStream(grpc::Status::OK);
  EXPECT_TRUE(AwaitEvent("DevicePluginGone"));
  const std::string events = Events();
  EXPECT_EQ(events.find("DevicePluginFault"), events.rfind("DevicePluginFault")) << events;
}

TEST_F(DeviceManagerTest, ResourcesOfPodsOnRecordWaitForTheirPlugin) {
  expected_ = {kGpu};
  Begin();
  EXPECT_EQ(Counts(), "0/0");
  EXPECT_TRUE(manager_->PreStart(kGpu, {"a"}).ok());
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(manager_->Prefer(kGpu, {"a"}, {}, 1).status().code(), absl::StatusCode::kUnavailable);
  const auto plugin = Registered({"a"});
  EXPECT_EQ(plugin->asked().size(), 0u);
}

TEST_F(DeviceManagerTest, ThereAreAtMostSoManyPlugins) {
  const auto plugin = Registered({"a"});
  grpc::Status status;
  int taken = 1;
  while (taken < 200 && status.ok()) {
    status = Register(absl::StrCat("example.com/gpu", taken), "gpu.sock");
    taken += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(taken, 64);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Of a plugin in the registry's directory.
class RegistryTest : public DeviceManagerTest {
 protected:
  std::string RegistryPath(const std::string& name) const {
    return absl::StrCat(dir_.path(), "/registry/", name);
  }
  std::unique_ptr<FakePlugin> Registrant(const std::string& name,
                                         const std::function<void(FakePlugin&)>& set) {
    // Its members are set before the socket is seen under a name that counts.
    const std::string hidden = RegistryPath("." + name);
    auto plugin = std::make_unique<FakePlugin>(hidden);
    plugin->info.set_type("DevicePlugin");
    plugin->info.set_name(kGpu);
    plugin->info.add_supported_versions("v1beta1");
    plugin->Tell(DevicesNamed({"a"}));
    set(*plugin);
    EXPECT_EQ(rename(hidden.c_str(), RegistryPath(name).c_str()), 0);
    return plugin;
  }
  static bool AwaitAsked(const FakePlugin& plugin, const std::string& what) {
    return WaitUntil([&] {
      for (const std::string& each : plugin.asked()) {
        if (each.find(what) != std::string::npos) return true;
      }
      return false;
    });
  }
};

TEST_F(RegistryTest, ASocketThatAppearsIsAPlugin) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  ASSERT_TRUE(AwaitCounts("1/1"));
  EXPECT_TRUE(AwaitAsked(*plugin, "verdict plugin_registered: true"));
  EXPECT_THAT(plugin->asked(), ElementsAre("info", "verdict plugin_registered: true"));
  // The socket goes, and the plugin is left, though its process runs on.
  ASSERT_EQ(unlink(RegistryPath("gpu.sock").c_str()), 0);
  EXPECT_TRUE(AwaitCounts("0/1"));
}

TEST_F(RegistryTest, SocketsOfBeforeTheStartCount) {
  manager_.reset();
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  Begin();
  EXPECT_TRUE(AwaitCounts("1/1"));
}

TEST_F(RegistryTest, AnEndpointOfItsOwn) {
  const auto endpoint = std::make_unique<FakePlugin>(dir_.path() + "/own.sock");
  endpoint->Tell(DevicesNamed({"a", "b"}));
  const auto plugin =
      Registrant("gpu.sock", [](FakePlugin& fake) { fake.info.set_endpoint("/own.sock"); });
  EXPECT_TRUE(AwaitCounts("2/2"));
}

TEST_F(RegistryTest, OthersAreRefusedOnce) {
  struct Case {
    std::function<void(FakePlugin&)> set;
    std::string part;
  };
  const std::vector<Case> cases = {
      {[](FakePlugin& fake) { fake.info.set_type("CSIPlugin"); },
       "no handler registered for plugin type: "},
      {[](FakePlugin& fake) { fake.info.set_supported_versions(0, "v1"); },
       "is not among plugin supported versions"},
      {[](FakePlugin& fake) { fake.info.set_name("gpu"); }, "is invalid"},
      {[](FakePlugin& fake) { fake.info.set_endpoint("own.sock"); }, "must be an absolute path"},
      {[](FakePlugin& fake) { fake.info.set_name(kSerial); }, "the agent's configuration"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto plugin = Registrant(absl::StrCat("p", i, ".sock"), cases[i].set);
    EXPECT_TRUE(AwaitAsked(*plugin, "verdict error: ")) << cases[i].part;
    EXPECT_THAT(plugin->asked(), Contains(HasSubstr(cases[i].part)));
    EXPECT_TRUE(AwaitEvent(cases[i].part)) << cases[i].part;
    // Another one makes the manager look again.
    const auto good = Registrant("good.sock", [](FakePlugin&) {});
    ASSERT_TRUE(AwaitCounts("1/1"));
    EXPECT_EQ(plugin->asked().size(), 2u) << "it was asked again";
    ASSERT_EQ(unlink(RegistryPath("good.sock").c_str()), 0);
    ASSERT_TRUE(AwaitCounts("0/1"));
  }
}

TEST_F(RegistryTest, ASocketWithoutAProcessIsAskedAgain) {
  { const UniqueFd dead = ListenSilently(RegistryPath("dead.sock")); }
  EXPECT_TRUE(AwaitEvent("no process listens"));
  ASSERT_EQ(unlink(RegistryPath("dead.sock").c_str()), 0);
  const auto plugin = Registrant("dead.sock", [](FakePlugin&) {});
  EXPECT_TRUE(AwaitCounts("1/1"));
}

TEST_F(RegistryTest, APluginThatCantHearItsVerdictIsLeft) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin& fake) {
    fake.options_failure = grpc::Status(grpc::StatusCode::INTERNAL, "not ready");
  });
  EXPECT_TRUE(AwaitAsked(*plugin, "not ready"));
  EXPECT_TRUE(AwaitEvent("not ready"));
  EXPECT_EQ(Counts(), "");
}

TEST_F(RegistryTest, FilesAndHiddenSocketsAreLeftAlone) {
  ASSERT_TRUE(dir_.root().ReplaceFile("registry/file", "x").ok());
  const FakePlugin hidden(RegistryPath(".hidden.sock"));
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  ASSERT_TRUE(AwaitCounts("1/1"));
  EXPECT_THAT(hidden.asked(), IsEmpty());
  EXPECT_EQ(Events(), "");
}

}  // namespace
}  // namespace plimsoll::agent
