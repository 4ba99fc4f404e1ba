// Failing, slow, rude and absent plugins of the Node Resource Interface: what fails names its
// plugin, leaves nothing behind, and can be tried again.
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/leftovers.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

napi::ContainerAdjustment Environment(const std::string& key, const std::string& value) {
  napi::ContainerAdjustment adjustment;
  napi::KeyValue* variable = adjustment.add_env();
  variable->set_key(key);
  variable->set_value(value);
  return adjustment;
}

class NriFailuresTest : public NriTest {
 protected:
  using NriTest::NriTest;

  InventoryScope Scope() const {
    return {.directories = {node_.state_directory(), node_.run_directory()},
            .cgroup = node_.cgroup_parent(),
            .database = absl::StrCat(node_.state_directory(), "/plimsoll.db")};
  }
  template <typename Request, typename Response>
  static TestPlugin::Handler<Request, Response> Fails() {
    return [](const Request&) { return absl::ResourceExhaustedError("no room on this node"); };
  }
};

TEST_F(NriFailuresTest, AnErrorInACreationLeavesNothingAndARetryWorks) {
  TestPlugin quiet("05", "quiet");
  Join(quiet);
  TestPlugin plugin("10", "strict");
  Join(plugin);
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("sleep 1000");
  plugin.On(&TestPlugin::create,
            Fails<napi::CreateContainerRequest, napi::CreateContainerResponse>());
  const Inventory before = TakeInventory(Scope());
  for (int i = 0; i < 3; ++i) {
    std::string id;
    const grpc::Status refused = TryCreate(pod, config, &id);
    EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(),
                AllOf(HasSubstr("10-strict"), HasSubstr("no room on this node")));
  }
  EXPECT_THAT(AwaitNothingLeft(Scope(), before), IsEmpty());
  plugin.On(&TestPlugin::create, nullptr);
  const std::string container = Start(pod, config);
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  // A plugin that was asked about a container that isn't made hears of its end.
  ASSERT_TRUE(quiet.Await("CreateContainer", 4));
  EXPECT_EQ(quiet.Count("RemoveContainer"), 3);
}

TEST_F(NriFailuresTest, AnErrorAboutAPodLeavesNothingAndARetryWorks) {
  TestPlugin plugin("10", "strict");
  Join(plugin);
  RunPod();  // makes the group that all pods are in
  const cri::PodSandboxConfig config = PodConfig();
  plugin.On(&TestPlugin::run_pod, Fails<napi::RunPodSandboxRequest, napi::RunPodSandboxResponse>());
  const Inventory before = TakeInventory(Scope());
  std::string id;
  const grpc::Status refused = TryRunPod(config, &id);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("10-strict"));
  EXPECT_THAT(AwaitNothingLeft(Scope(), before), IsEmpty());
  plugin.On(&TestPlugin::run_pod, nullptr);
  EXPECT_FALSE(RunPod(config).empty());
}

TEST_F(NriFailuresTest, AnErrorAtAStartLeavesTheContainerCreated) {
  TestPlugin plugin("10", "strict");
  Join(plugin);
  const std::string container = Create(RunPod(), Shell("sleep 1000"));
  plugin.On(&TestPlugin::start, Fails<napi::StartContainerRequest, napi::StartContainerResponse>());
  const grpc::Status refused = TryStart(container);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_CREATED);
  plugin.On(&TestPlugin::start, nullptr);
  EXPECT_TRUE(TryStart(container).ok());
}

TEST_F(NriFailuresTest, AnErrorAtAnUpdateChangesNothing) {
  TestPlugin plugin("10", "strict");
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const auto before = *Cgroups().Read(CgroupOf(pod, container));
  plugin.On(&TestPlugin::update,
            Fails<napi::UpdateContainerRequest, napi::UpdateContainerResponse>());
  const grpc::Status refused = UpdateShares(container, 512);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_EQ(*Cgroups().Read(CgroupOf(pod, container)), before);
  EXPECT_EQ(plugin.Count("PostUpdateContainer"), 0);
}

// The container can't be made as plugins want it: that is undone, too.
TEST_F(NriFailuresTest, AnImpossibleAdjustmentLeavesNothing) {
  TestPlugin plugin("10", "wild");
  napi::ContainerAdjustment adjustment;
  napi::Mount* mount = adjustment.add_mounts();
  mount->set_destination("/x");
  mount->set_type("bind");
  mount->set_source("/none/such");
  mount->add_options("rbind");
  plugin.Adjust(adjustment);
  Join(plugin);
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("sleep 1000");
  const Inventory before = TakeInventory(Scope());
  std::string id;
  EXPECT_FALSE(TryCreate(pod, config, &id).ok());
  EXPECT_THAT(AwaitNothingLeft(Scope(), before), IsEmpty());
  plugin.Adjust({});
  EXPECT_TRUE(TryCreate(pod, config, &id).ok());
}

TEST_F(NriFailuresTest, AConflictNamesBothPluginsAndTheField) {
  TestPlugin first("10", "first");
  TestPlugin second("20", "second");
  first.Adjust(Environment("LEVEL", "1"));
  second.Adjust(Environment("LEVEL", "2"));
  Join(first);
  Join(second);
  const std::string pod = RunPod();
  std::string id;
  const grpc::Status refused = TryCreate(pod, Shell("true"), &id);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("10-first"), HasSubstr("20-second"),
                                             HasSubstr("env"), HasSubstr("LEVEL")));
  second.Adjust(Environment("OTHER", "2"));
  EXPECT_TRUE(TryCreate(pod, Shell("true"), &id).ok());
}

TEST_F(NriFailuresTest, AValidatorRejects) {
  TestPlugin adjuster("10", "adjuster");
  adjuster.Adjust(Environment("FORBIDDEN", "1"));
  Join(adjuster);
  TestPlugin validator("90", "judge");
  validator.On(&TestPlugin::validate, [](const napi::ValidateContainerAdjustmentRequest& request) {
    napi::ValidateContainerAdjustmentResponse response;
    for (const napi::KeyValue& variable : request.adjust().env()) {
      if (variable.key() != "FORBIDDEN") continue;
      response.set_reject(true);
      response.set_reason("FORBIDDEN is not for you");
    }
    return response;
  });
  Join(validator);
  const std::string pod = RunPod();
  std::string id;
  const grpc::Status refused = TryCreate(pod, Shell("true"), &id);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("90-judge"), HasSubstr("FORBIDDEN is not for you")));
  const auto asked = validator.LastRequest<napi::ValidateContainerAdjustmentRequest>(
      "ValidateContainerAdjustment");
  EXPECT_EQ(asked.owners().owners_size(), 1);
  adjuster.Adjust(Environment("ALLOWED", "1"));
  EXPECT_TRUE(TryCreate(pod, Shell("true"), &id).ok());
}

TEST_F(NriFailuresTest, APluginThatIsKilledInAnyHookFailsNothing) {
  int index = 10;
  for (const char* call :
       {"RunPodSandbox", "CreateContainer", "PostCreateContainer", "StartContainer",
        "PostStartContainer", "UpdateContainer", "PostUpdateContainer", "StopContainer",
        "RemoveContainer", "StopPodSandbox"}) {
    SCOPED_TRACE(call);
    TestPlugin plugin(absl::StrCat(index++), "mortal");
    plugin.DieIn(call);
    plugin.Adjust(Environment("BY_PLUGIN", "1"));
    Join(plugin);
    const std::string pod = RunPod();
    const std::string container = Start(pod, Shell("sleep 1000"));
    EXPECT_TRUE(UpdateShares(container, 512).ok());
    EXPECT_TRUE(StopContainer(container, 0).ok());
    EXPECT_TRUE(RemoveContainer(container).ok());
    EXPECT_TRUE(StopPod(pod).ok());
    EXPECT_TRUE(RemovePod(pod).ok());
    EXPECT_EQ(plugin.Count(call), 1);
    EXPECT_EQ(plugin.Count("RemovePodSandbox"), 0);
  }
  EXPECT_TRUE(Eventually([&] { return PluginsJson().find("mortal") == std::string::npos; }));
}

// A container that a validator can't judge is refused.
TEST_F(NriFailuresTest, AValidatorThatIsKilledRefusesTheContainer) {
  TestPlugin validator("90", "judge");
  validator.DieIn("ValidateContainerAdjustment");
  validator.On(&TestPlugin::validate, [](const napi::ValidateContainerAdjustmentRequest&) {
    return napi::ValidateContainerAdjustmentResponse();
  });
  Join(validator);
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("true");
  const Inventory before = TakeInventory(Scope());
  std::string id;
  const grpc::Status refused = TryCreate(pod, config, &id);
  EXPECT_EQ(refused.error_code(), grpc::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("90-judge"));
  EXPECT_THAT(AwaitNothingLeft(Scope(), before), IsEmpty());
  EXPECT_TRUE(TryCreate(pod, config, &id).ok());
}

class NriPolicyTest : public NriFailuresTest {
 protected:
  NriPolicyTest()
      : NriFailuresTest(
            "  request_timeout_ms: 2000\n"
            "  plugins: {10-needed: {required: true, strikes: 5}}\n") {}
};

TEST_F(NriPolicyTest, WithoutARequiredPluginNothingIsMadeAndWithItARetryWorks) {
  const cri::PodSandboxConfig config = PodConfig();
  std::string pod;
  const grpc::Status refused = TryRunPod(config, &pod);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), HasSubstr("10-needed"));
  EXPECT_THAT(PluginsJson(), HasSubstr("10-needed"));
  TestPlugin plugin("10", "needed");
  Join(plugin);
  pod = RunPod(config);
  const std::string container = Start(pod, Shell("sleep 1000"));
  plugin.Close();
  ASSERT_TRUE(Eventually([&] {
    std::string id;
    return !TryCreate(pod, Shell("true"), &id).ok();
  }));
  // The validator's absence keeps nobody from stopping and removing.
  EXPECT_TRUE(StopContainer(container, 0).ok());
  EXPECT_TRUE(StopPod(pod).ok());
  EXPECT_TRUE(RemovePod(pod).ok());
}

TEST_F(NriPolicyTest, ASlowAnswerIsAStrikeAndNotADeath) {
  TestPlugin plugin("20", "slow");
  std::atomic<bool> slow = true;
  absl::Notification end;
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    if (slow.exchange(false)) end.WaitForNotification();
    return napi::CreateContainerResponse();
  });
  TestPlugin needed("10", "needed");
  Join(needed);
  Join(plugin);
  const std::string pod = RunPod();
  // An optional plugin's lateness fails nothing.
  EXPECT_FALSE(Create(pod, Shell("true")).empty());
  EXPECT_THAT(PluginsJson(), HasSubstr("20-slow"));
  end.Notify();
  EXPECT_FALSE(Create(pod, Shell("true")).empty());
  EXPECT_TRUE(plugin.Await("CreateContainer", 2));
}

TEST_F(NriPolicyTest, ASlowAnswerOfARequiredPluginFailsTheRequest) {
  TestPlugin plugin("10", "needed");
  std::atomic<bool> slow = true;
  absl::Notification end;
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    if (slow.exchange(false)) end.WaitForNotification();
    return napi::CreateContainerResponse();
  });
  Join(plugin);
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("true");
  std::string id;
  const grpc::Status refused = TryCreate(pod, config, &id);
  EXPECT_EQ(refused.error_code(), grpc::UNAVAILABLE) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("10-needed"));
  end.Notify();
  EXPECT_FALSE(Create(pod, config).empty());
}

class NriValidatorTest : public NriFailuresTest {
 protected:
  NriValidatorTest()
      : NriFailuresTest(
            "  validator:\n    reject_oci_hooks: true\n"
            "    required_plugins: [needed]\n"
            "    tolerate_missing_annotation: example.com/tolerate\n") {}
};

TEST_F(NriValidatorTest, HooksAreRefusedByTheConfiguration) {
  TestPlugin plugin("10", "needed");
  napi::ContainerAdjustment adjustment;
  adjustment.mutable_hooks()->add_create_runtime()->set_path("/bin/true");
  plugin.Adjust(adjustment);
  Join(plugin);
  const std::string pod = RunPod();
  std::string id;
  const grpc::Status refused = TryCreate(pod, Shell("true"), &id);
  EXPECT_EQ(refused.error_code(), grpc::PERMISSION_DENIED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("10-needed"), HasSubstr("hooks")));
  plugin.Adjust({});
  EXPECT_TRUE(TryCreate(pod, Shell("true"), &id).ok());
}

TEST_F(NriValidatorTest, AMissingPluginIsToleratedByAnnotation) {
  const std::string pod = RunPod();
  std::string id;
  const grpc::Status refused = TryCreate(pod, Shell("true"), &id);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), HasSubstr("needed"));
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["example.com/tolerate"] = "true";
  const grpc::Status made = TryCreate(RunPod(config), Shell("true"), &id);
  EXPECT_TRUE(made.ok()) << made.error_message();
}

// A peer that speaks no such protocol.
class RudePeer {
 public:
  explicit RudePeer(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  // Sends until the other end has enough or the socket is full.
  void Flood(const std::string& bytes) {
    for (int i = 0; i < 10'000; ++i) {
      if (send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) return;
    }
  }
  // Whether the other end hangs up.
  bool IsDropped() {
    return Eventually([&] {
      char buffer[4096];
      ssize_t count = 1;
      while (count > 0) count = recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    });
  }

 private:
  UniqueFd socket_;
};

TEST_F(NriFailuresTest, PluginsThatComeAndGoLeaveNothing) {
  TestPlugin first("10", "visitor");
  Join(first);  // what is made once, is
  first.Close();
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const auto is_alone = [&] { return PluginsJson().find("visitor") == std::string::npos; };
  ASSERT_TRUE(Eventually(is_alone));
  InventoryScope scope = Scope();
  scope.holder = node_.daemon_pid();
  const Inventory before = TakeInventory(scope);
  for (int i = 0; i < 30; ++i) {
    TestPlugin plugin(absl::StrCat(10 + i), "visitor");
    Join(plugin);
    if (i % 2 == 0) plugin.Cut();
  }
  ASSERT_TRUE(Eventually(is_alone));
  EXPECT_THAT(AwaitNothingLeft(scope, before), IsEmpty());
}

TEST_F(NriFailuresTest, AFloodOfUpdatesHoldsNobodyUp) {
  const std::string pod = RunPod();
  const std::string updated = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "flooder");
  Join(plugin);
  std::atomic<bool> done = false;
  std::vector<std::thread> floods;
  for (int i = 0; i < 4; ++i) {
    floods.emplace_back([&] {
      while (!done) {
        const auto answer = plugin.session().UpdateContainers({SharesUpdate(updated, 512)}, {});
        EXPECT_TRUE(answer.ok()) << answer.status();
        if (!answer.ok()) return;
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    const std::string container = Start(pod, Shell("sleep 1000"));
    EXPECT_TRUE(UpdateShares(container, 300).ok());
    EXPECT_TRUE(StopContainer(container, 0).ok());
    EXPECT_TRUE(RemoveContainer(container).ok());
  }
  done = true;
  for (std::thread& flood : floods) flood.join();
  EXPECT_EQ(plugin.Count("CreateContainer"), 5);
}

class NriRudenessTest : public NriFailuresTest {
 protected:
  NriRudenessTest() : NriFailuresTest("  registration_timeout_ms: 2000\n") {}
};

TEST_F(NriRudenessTest, GarbageAndSilenceDisturbNobody) {
  TestPlugin plugin("10", "polite");
  Join(plugin);
  std::vector<std::unique_ptr<RudePeer>> peers;
  for (const std::string& bytes :
       {std::string(65536, '\xff'), std::string(65536, '\0'), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("\0\0\0\1\0\0\0\4abcd", 12), std::string()}) {
    peers.push_back(std::make_unique<RudePeer>(NriSocket()));
    if (!bytes.empty()) peers.back()->Flood(bytes);
  }
  const std::string pod = RunPod();
  EXPECT_FALSE(Start(pod, Shell("sleep 1000")).empty());
  EXPECT_TRUE(plugin.Await("PostStartContainer"));
  for (const auto& peer : peers) EXPECT_TRUE(peer->IsDropped());
}

}  // namespace
}  // namespace plimsoll::testing
