// Plugins of the Node Resource Interface that join, leave and join again while pods come and go:
// each object is sent to each of them, once.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// How often each container was told: in Synchronize or by its creation.
std::map<std::string, int> TimesTold(const TestPlugin& plugin) {
  std::map<std::string, int> told;
  for (const napi::Container& each : plugin.containers()) ++told[each.id()];
  for (const SeenCall& call : plugin.Seen()) {
    if (call.name == "CreateContainer") ++told[call.container.id()];
  }
  return told;
}

class NriSynchronizeTest : public NriTest {
 protected:
  NriSynchronizeTest() : NriTest("  request_timeout_ms: 60000\n") {}

  std::vector<std::string> ContainerIds() {
    cri::ListContainersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, {}, &response).ok());
    std::vector<std::string> ids;
    for (const cri::Container& each : response.containers()) ids.push_back(each.id());
    return ids;
  }
};

TEST_F(NriSynchronizeTest, APluginGetsAllThatIsThere) {
  const std::string pod = RunPod();
  const std::string other = RunPod();
  const std::string created = Create(pod, Shell("sleep 1000"));
  const std::string running = Start(other, Shell("sleep 1000"));
  TestPlugin plugin("10", "late");
  Join(plugin);
  std::vector<std::string> pods;
  for (const napi::PodSandbox& each : plugin.pods()) pods.push_back(each.id());
  EXPECT_THAT(pods, UnorderedElementsAre(pod, other));
  ASSERT_EQ(plugin.containers().size(), 2u);
  for (const napi::Container& each : plugin.containers()) {
    const bool runs = each.id() == running;
    EXPECT_EQ(each.id(), runs ? running : created);
    EXPECT_EQ(each.state(), runs ? napi::CONTAINER_RUNNING : napi::CONTAINER_CREATED);
    EXPECT_EQ(each.pod_sandbox_id(), runs ? other : pod);
    EXPECT_GT(each.pid(), 0u);
  }
}

TEST_F(NriSynchronizeTest, ItsAnswerUpdatesContainers) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "late");
  plugin.On(&TestPlugin::synchronize,
            [&](const std::vector<napi::PodSandbox>&, const std::vector<napi::Container>&) {
              return std::vector<napi::ContainerUpdate>{SharesUpdate(container, 512)};
            });
  Join(plugin);
  const std::string group = CgroupOf(pod, container);
  EXPECT_TRUE(Eventually([&] { return Cgroups().Read(group)->cpu_shares.value_or(0) < 600; }));
  EXPECT_EQ(Status(container).resources().linux().cpu_shares(),
            static_cast<int64_t>(*Cgroups().Read(group)->cpu_shares));
}

// In other runtimes such a container is lost to the plugin, or told twice.
TEST_F(NriSynchronizeTest, AContainerCreatedMeanwhileIsToldOnce) {
  const std::string pod = RunPod();
  TestPlugin plugin("10", "slow");
  absl::Notification synchronising;
  absl::Notification go_on;
  plugin.On(&TestPlugin::synchronize,
            [&](const std::vector<napi::PodSandbox>&, const std::vector<napi::Container>&) {
              synchronising.Notify();
              go_on.WaitForNotification();
              return std::vector<napi::ContainerUpdate>();
            });
  ASSERT_TRUE(plugin.Connect(NriSocket()).ok());
  synchronising.WaitForNotification();
  std::string container;
  std::thread creator([&] { container = Start(pod, Shell("sleep 1000")); });
  // The creation waits for the end of the synchronisation.
  EXPECT_THAT(ContainerIds(), IsEmpty());
  go_on.Notify();
  creator.join();
  EXPECT_THAT(TimesTold(plugin), ElementsAre(std::pair(container, 1)));
}

TEST_F(NriSynchronizeTest, AContainerInTheMakingIsToldOnceToAPluginThatJoins) {
  const std::string pod = RunPod();
  TestPlugin first("10", "first");
  TestPlugin second("20", "second");
  absl::Notification creating;
  absl::Notification go_on;
  first.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    creating.Notify();
    go_on.WaitForNotification();
    return napi::CreateContainerResponse();
  });
  Join(first);
  std::string container;
  std::thread creator([&] { container = Start(pod, Shell("sleep 1000")); });
  creating.WaitForNotification();
  ASSERT_TRUE(second.Connect(NriSocket()).ok());
  go_on.Notify();
  creator.join();
  ASSERT_TRUE(second.Await("Synchronize"));
  EXPECT_THAT(TimesTold(first), ElementsAre(std::pair(container, 1)));
  EXPECT_TRUE(Eventually([&] { return TimesTold(second).size() == 1; }));
  EXPECT_THAT(TimesTold(second), ElementsAre(std::pair(container, 1)));
}

TEST_F(NriSynchronizeTest, InAStormOfPluginsEachContainerIsToldOnceToEach) {
  const std::string pod = RunPod();
  std::atomic<bool> done = false;
  std::thread churn([&] {
    for (int i = 0; i < 12; ++i) {
      const std::string container = Start(pod, Shell("sleep 1000"));
      if (i % 3 == 0) {
        EXPECT_TRUE(StopContainer(container, 0).ok());
        EXPECT_TRUE(RemoveContainer(container).ok());
      }
    }
    done = true;
  });
  int joined = 0;
  while (!done) {
    TestPlugin plugin(absl::StrCat(10 + joined % 80), "visitor");
    Join(plugin);
    ++joined;
    for (const auto& [id, times] : TimesTold(plugin)) EXPECT_EQ(times, 1) << id;
  }
  churn.join();
  EXPECT_GT(joined, 0);
  TestPlugin last("99", "last");
  Join(last);
  EXPECT_EQ(TimesTold(last).size(), 8u);
  EXPECT_TRUE(Eventually([&] { return PluginsJson().find("visitor") == std::string::npos; }))
      << PluginsJson();
}

TEST_F(NriSynchronizeTest, SixteenPluginsAtOnce) {
  std::vector<std::unique_ptr<TestPlugin>> plugins;
  for (int i = 0; i < 16; ++i) {
    plugins.push_back(std::make_unique<TestPlugin>(absl::StrCat(10 + i), "one"));
    napi::ContainerAdjustment adjustment;
    napi::KeyValue* variable = adjustment.add_env();
    variable->set_key(absl::StrCat("BY_", i));
    variable->set_value("1");
    plugins.back()->Adjust(adjustment);
  }
  for (const auto& plugin : plugins) ASSERT_TRUE(plugin->Connect(NriSocket()).ok());
  for (const auto& plugin : plugins) ASSERT_TRUE(plugin->Await("Synchronize"));
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "env | grep -c ^BY_"), "16\n");
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());
  for (const auto& plugin : plugins) {
    ASSERT_TRUE(plugin->Await("RemovePodSandbox"));
    EXPECT_EQ(plugin->CallsAbout(pod).size(), 9u) << plugin->full_name();
  }
}

TEST_F(NriSynchronizeTest, PluginsOutliveTheDaemonAndJoinItsSuccessor) {
  TestPlugin plugin("10", "faithful");
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  node_.KillDaemon();
  EXPECT_FALSE(plugin.session().Wait().ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  plugin.Forget();
  Join(plugin);
  ASSERT_EQ(plugin.pods().size(), 1u);
  EXPECT_EQ(plugin.pods()[0].id(), pod);
  ASSERT_EQ(plugin.containers().size(), 1u);
  EXPECT_EQ(plugin.containers()[0].id(), container);
  EXPECT_EQ(plugin.containers()[0].state(), napi::CONTAINER_RUNNING);
  ASSERT_TRUE(StopContainer(container, 0).ok());
  EXPECT_TRUE(plugin.Await("StopContainer"));
}

// Plugins' settings are on record: a daemon that comes later reports them, and their origin.
TEST_F(NriSynchronizeTest, AdjustmentsOutliveTheDaemon) {
  TestPlugin plugin("10", "adjuster");
  napi::ContainerAdjustment adjustment;
  (*adjustment.mutable_annotations())["example.com/set"] = "yes";
  adjustment.mutable_linux()->mutable_resources()->mutable_cpu()->mutable_shares()->set_value(512);
  plugin.Adjust(adjustment);
  Join(plugin);
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  TestPlugin reader("20", "reader");
  Join(reader);
  ASSERT_EQ(reader.containers().size(), 1u);
  EXPECT_EQ(reader.containers()[0].annotations().at("example.com/set"), "yes");
  EXPECT_EQ(reader.containers()[0].linux().resources().cpu().shares().value(), 512u);
  cri::ContainerStatusRequest request;
  request.set_container_id(container);
  request.set_verbose(true);
  cri::ContainerStatusResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
  EXPECT_THAT(response.info().at("info"), HasSubstr(R"("plugin":"10-adjuster")"));
}

}  // namespace
}  // namespace plimsoll::testing
