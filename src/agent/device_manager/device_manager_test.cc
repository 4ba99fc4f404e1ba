#include "agent/device_manager/device_manager.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/device_manager/manager_fixture_for_test.h"
#include "agent/device_manager/plugin_lines.h"
#include "base/silent_clients_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

TEST_F(DeviceManagerTest, AFileThatTakesTheSocketsPlaceIsToldAndLeftAlone) {
  ASSERT_TRUE(dir_.root().ReplaceFile("foreign", "mine").ok());
  ASSERT_EQ(rename((dir_.path() + "/foreign").c_str(), PathOf("kubelet.sock").c_str()), 0);
  EXPECT_TRUE(AwaitEvent(absl::StrCat(
      "DevicePluginSocketReplaced: ", PathOf("kubelet.sock"),
      " is not the agent's any more: another file has taken its place, and is left alone")));
  manager_.reset();
  EXPECT_EQ(dir_.root().Read("plugins/kubelet.sock").value_or(""), "mine");
  EXPECT_THAT(Events(), Not(HasSubstr("DevicePluginSocketRemoved")));
}

// Else a plugin that leaks its connections takes all descriptors of the agent.
TEST_F(DeviceManagerTest, ThereAreAtMostSoManyConnections) {
  const auto plugin = Plugin("gpu.sock");
  std::vector<UniqueFd> leaked = SilentClients(PathOf("kubelet.sock"), 128);
  ASSERT_EQ(leaked.size(), 128u);
  EXPECT_EQ(Register(kGpu, "gpu.sock").error_code(), grpc::StatusCode::UNAVAILABLE);
  leaked.pop_back();
  EXPECT_TRUE(WaitUntil([&] { return Register(kGpu, "gpu.sock").ok(); }));
}

TEST_F(DeviceManagerTest, ARegistrationIsALineOfTheLog) {
  const auto first = Registered({"a"});
  EXPECT_TRUE(AwaitLine(absl::StrCat("the device plugin of example.com/gpu at ", PathOf("gpu.sock"),
                                     " has registered, with 1 device")));
  first->Tell(DevicesNamed({"a", "b"}));  // no registration
  ASSERT_TRUE(AwaitCounts("2/2"));
  const auto second = Plugin("other.sock");
  second->Tell(DevicesNamed({"b", "c", "d"}, "Unhealthy"));
  ASSERT_TRUE(Register(kGpu, "other.sock").ok());
  EXPECT_TRUE(AwaitLine("/other.sock has registered, with 3 devices, 0 of them healthy"));
  const absl::MutexLock lock(&mutex_);
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(DeviceManagerTest, APluginThatRegistersInALoopHasFewLines) {
  const auto plugin = Plugin("gpu.sock");
  plugin->Tell(DevicesNamed({"a"}));
  const auto count = [this] {
    const absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(lines_.size());
  };
  for (int64_t i = 1; i <= PluginLines::kMostLines; ++i) {
    ASSERT_TRUE(Register(kGpu, "gpu.sock").ok());
    ASSERT_TRUE(WaitUntil([&] { return count() == i; }));
  }
  for (int i = 0; i < 3; ++i) {
    const size_t before = plugin->lists_sent();
    ASSERT_TRUE(Register(kGpu, "gpu.sock").ok());
    ASSERT_TRUE(WaitUntil([&] { return plugin->lists_sent() > before; }));
  }
  // The next resource's line comes behind all of these.
  const auto other = Plugin("other.sock");
  other->Tell(DevicesNamed({"a"}));
  ASSERT_TRUE(Register("example.com/other", "other.sock").ok());
  ASSERT_TRUE(AwaitLine("example.com/other"));
  EXPECT_EQ(count(), PluginLines::kMostLines + 1);
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
  plugin->FailOptions(grpc::Status(grpc::StatusCode::INTERNAL, "broken"));
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
  plugin->Fail(grpc::Status(grpc::StatusCode::UNKNOWN, "no\nsuch"));
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status(),
            absl::UnknownError("rpc error: code = Unknown desc = no\\nsuch"));
  plugin->Fail(grpc::Status(grpc::StatusCode::OK, ""));
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
  plugin->Fail(grpc::Status(grpc::StatusCode::INTERNAL, "no reset"));
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
  EXPECT_TRUE(AwaitEvent("DevicePluginGone: the device plugin of example.com/gpu has ended"));
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

// The plugin's stream goes on.
TEST_F(DeviceManagerTest, AListThatCantBeReadEndsThePlugin) {
  const auto plugin = Registered({"a"});
  plugin->Tell(DevicesNamed({"\xff"}));  // no UTF-8
  EXPECT_TRUE(AwaitEvent("has ended (a list of devices can't be read)"));
  EXPECT_TRUE(AwaitCounts("0/1"));
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
  // The lists sent before are bounded by gRPC's window; the newest list comes through.
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

TEST_F(DeviceManagerTest, RegistrationsAtOnceLeaveOnePlugin) {
  std::vector<std::unique_ptr<FakePlugin>> plugins;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("p", i, ".sock");
    plugins.push_back(Plugin(name));
    plugins.back()->Tell(DevicesNamed({"a", "b"}));
    threads.emplace_back([this, name] { EXPECT_TRUE(Register(kGpu, name).ok()); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(AwaitCounts("2/2"));
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kInvalidArgument);
  size_t asked = 0;
  for (const auto& each : plugins) asked += each->asked().size();
  EXPECT_EQ(asked, 1u);
}

TEST_F(DeviceManagerTest, APluginMayEndAtAnyMoment) {
  for (int i = 0; i < 30; ++i) {
    const auto plugin = Plugin("gpu.sock");
    plugin->Tell(DevicesNamed({"a"}));
    std::thread caller([this] {
      Register(kGpu, "gpu.sock").ok();
      manager_->Allocate(kGpu, {"a"}).IgnoreError();
      manager_->PreStart(kGpu, {"a"}).IgnoreError();
    });
    // Earlier or later in the other's calls with each round.
    if (i % 3 == 0) WaitUntil([&] { return plugin->lists_sent() > 0 || i % 2 == 0; });
    if (i % 3 == 1) WaitUntil([&] { return !plugin->asked().empty() || i % 2 == 0; });
    plugin->End();
    caller.join();
    ASSERT_EQ(unlink(PathOf("gpu.sock").c_str()) == 0 || errno == ENOENT, true);
  }
  const auto plugin = Registered({"a", "b"});
  EXPECT_EQ(manager_->Allocate(kGpu, {"a"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::agent
