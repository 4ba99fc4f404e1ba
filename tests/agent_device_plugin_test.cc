// Device plugins beside plimsoll-agent: what their devices bring to a container's request, and what
// becomes of pods when plugin or agent go. The plugin is examples/device-plugin.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "harness/recorded_agent.h"
#include "harness/sample_plugin.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kTpu[] = "plimsoll-test.com/tpu";
constexpr char kTwo[] =
    "device a numa=0 path=/dev/null cdi=plimsoll-test.com/tpu=a\n"
    "device b numa=0\n"
    "env DRIVER=1.2\n"
    "mount /usr/lib:/tpu:ro\n"
    "annotation plimsoll-test.com/driver=1.2\n";

class AgentDevicePluginTest : public RecordedAgentTest {
 protected:
  AgentDevicePluginTest()
      : RecordedAgentTest(
            "cgroupsPerQOS: false\n"
            "devices: {plimsoll-test.com/own: [{cdi: plimsoll-test.com/own=0}]}\n") {}
  SamplePlugin Plugin(const std::string& list) {
    return SamplePlugin(agent_, directory_.path(), kTpu, list);
  }
  void Apply(const std::string& name, int count, const std::string& more = "") {
    RecordedAgentTest::Apply(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                     "}, spec: {containers: [{name: main, image: busybox, imagePullPolicy: Never, ",
                     more, "resources: {limits: {", kTpu, ": ", count, "}}}]}}"));
  }
  void Delete(const std::string& pod) {
    ASSERT_TRUE(agent_.client().Delete("default", pod, 1).ok());
    ASSERT_TRUE(agent_.AwaitGone(pod));
  }
  std::string DeviceOf(const std::string& pod) {
    return agent_.Pod(pod)["status"]["containerStatuses"][0]["allocatedResourcesStatus"].dump();
  }
  bool AwaitNodeEvent(const std::string& reason, const std::string& part) {
    return Eventually([&] {
      const auto events = agent_.client().Events("", "");
      if (!events.ok()) return false;
      for (const Json& each : *events) {
        if (each["reason"] == reason && each.dump().find(part) != std::string::npos) return true;
      }
      return false;
    });
  }
};

TEST_F(AgentDevicePluginTest, APodGetsWhatBelongsToItsDevices) {
  SamplePlugin plugin = Plugin(absl::StrCat(kTwo, "prefer last\nprestart\n"));
  ASSERT_TRUE(plugin.AwaitLine("registered"));
  ASSERT_TRUE(plugin.AwaitNode(2, 2));
  Apply("one", 1, "env: [{name: DRIVER, value: mine}], ");
  ASSERT_TRUE(agent_.Await("one", IsReady));
  EXPECT_TRUE(plugin.AwaitLine("prefer 1 of a,b with "));
  EXPECT_TRUE(plugin.AwaitLine("allocate b"));
  EXPECT_TRUE(plugin.AwaitLine("start b"));
  Apply("two", 1);
  ASSERT_TRUE(agent_.Await("two", IsReady));
  ASSERT_EQ(runtime_.Containers().size(), 2u);
  const cri::ContainerConfig first = runtime_.Containers()[0].config();
  std::string variables;
  for (const auto& each : first.envs())
    absl::StrAppend(&variables, each.key(), "=", each.value(), " ");
  EXPECT_THAT(variables, HasSubstr("PLIMSOLL_TEST_COM_TPU=b "));
  EXPECT_THAT(variables, HasSubstr("DRIVER=mine ")) << "the manifest's wins";
  EXPECT_EQ(first.devices_size(), 0);
  const cri::ContainerConfig second = runtime_.Containers()[1].config();
  EXPECT_EQ(second.annotations().at("plimsoll-test.com/driver"), "1.2");
  ASSERT_EQ(second.devices_size(), 1);
  EXPECT_EQ(second.devices(0).host_path(), "/dev/null");
  EXPECT_EQ(second.devices(0).permissions(), "rw");
  ASSERT_EQ(second.cdi_devices_size(), 1);
  EXPECT_EQ(second.cdi_devices(0).name(), "plimsoll-test.com/tpu=a");
  const cri::Mount& mount = *second.mounts().rbegin();
  EXPECT_EQ(mount.host_path(), "/usr/lib");
  EXPECT_EQ(mount.container_path(), "/tpu");
  EXPECT_TRUE(mount.readonly());
  // The announcement names the same.
  const cri::ContainerResourceConfig announced =
      runtime_.Sandboxes()[1].config().pod_resources().containers(0);
  EXPECT_EQ(announced.devices(0).host_path(), "/dev/null");
  EXPECT_EQ(announced.cdi_devices(0).name(), "plimsoll-test.com/tpu=a");
  EXPECT_EQ(announced.mounts().rbegin()->container_path(), "/tpu");

  Apply("three", 1);
  ASSERT_TRUE(agent_.AwaitPhase("three", "Failed"));
  Delete("one");
  Apply("four", 1);
  ASSERT_TRUE(agent_.Await("four", IsReady));
  EXPECT_THAT(DeviceOf("four"), HasSubstr("\"b\""));
}

TEST(AgentDevicePluginStartTest, SocketsThatCantBeServedEndTheStart) {
  const TestDir directory;
  RecordingRuntime runtime(directory.path());
  AgentProcess agent(directory.path(), runtime.address(), "cgroupsPerQOS: false\n");
  ASSERT_TRUE(Host().ReplaceFile(agent.device_plugins(), "no directory").ok());
  const absl::Status started = agent.Start();
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(agent.Log(), HasSubstr("device-plugins")) << "it says why, and doesn't wait";
}

TEST_F(AgentDevicePluginTest, AContainerThatStartsAgainIsToldAndNotAllocatedAgain) {
  SamplePlugin plugin = Plugin("device a\nprestart\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 1));
  Apply("one", 1);
  ASSERT_TRUE(plugin.AwaitLine("start a"));
  ASSERT_TRUE(agent_.Await("one", IsReady));
  EXPECT_THAT(plugin.printed(), HasSubstr("allocate a\n"));
  plugin.Forget();
  ASSERT_TRUE(runtime_.Exit("main", 1));
  EXPECT_TRUE(plugin.AwaitLine("start a"));
  EXPECT_THAT(plugin.printed(), ::testing::Not(HasSubstr("allocate")));
}

TEST_F(AgentDevicePluginTest, ARestartedAgentKeepsDevicesAndHearsThePluginAgain) {
  SamplePlugin plugin = Plugin("device a\ndevice b\n");
  ASSERT_TRUE(plugin.AwaitNode(2, 2));
  Apply("one", 1);
  ASSERT_TRUE(agent_.Await("one", IsReady));
  ASSERT_TRUE(plugin.AwaitLine("allocate a"));
  plugin.Forget();
  agent_.Kill();
  Begin();
  ASSERT_TRUE(plugin.AwaitLine("registered"));
  ASSERT_TRUE(plugin.AwaitNode(2, 2));
  ASSERT_TRUE(agent_.Await("one", IsReady));
  EXPECT_THAT(DeviceOf("one"), HasSubstr("\"a\""));
  Apply("two", 1);
  EXPECT_TRUE(plugin.AwaitLine("allocate b"));
  ASSERT_TRUE(agent_.Await("two", IsReady));
  Apply("three", 1);
  ASSERT_TRUE(agent_.AwaitPhase("three", "Failed"));
}

TEST_F(AgentDevicePluginTest, WithoutItsPluginAResourceOnRecordStays) {
  SamplePlugin plugin = Plugin("device a\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 1));
  Apply("one", 1);
  ASSERT_TRUE(agent_.Await("one", IsReady));
  plugin.Kill();
  ASSERT_TRUE(plugin.AwaitNode(0, 1));
  EXPECT_TRUE(AwaitNodeEvent("DevicePluginGone", kTpu));
  agent_.Kill();
  Begin();
  ASSERT_TRUE(plugin.AwaitNode(0, 0));
  ASSERT_TRUE(agent_.Await("one", IsReady)) << "it runs on";
  EXPECT_EQ(runtime_.Containers().size(), 1u);
  ASSERT_TRUE(runtime_.Exit("main", 1));
  ASSERT_TRUE(Eventually([&] { return runtime_.Containers().size() == 2; }));
  const cri::ContainerConfig again = runtime_.Containers()[1].config();
  EXPECT_EQ(again.envs(0).value(), "a") << "by the answer on record";
  Apply("two", 1);
  ASSERT_TRUE(agent_.AwaitPhase("two", "Failed"));
  plugin.Begin();
  EXPECT_TRUE(plugin.AwaitNode(1, 1));
}

TEST_F(AgentDevicePluginTest, AnUnhealthyDeviceIsGivenToNobodyElse) {
  SamplePlugin plugin = Plugin("device a\ndevice b\n");
  ASSERT_TRUE(plugin.AwaitNode(2, 2));
  Apply("one", 1);
  ASSERT_TRUE(agent_.Await("one", IsReady));
  plugin.Write("device a unhealthy\ndevice b unhealthy\ndevice c\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 3));
  EXPECT_TRUE(Eventually([&] { return DeviceOf("one").find("Unhealthy") != std::string::npos; }))
      << DeviceOf("one");
  Apply("two", 1);
  EXPECT_TRUE(plugin.AwaitLine("allocate c"));
  ASSERT_TRUE(agent_.Await("two", IsReady));
  Apply("three", 1);
  ASSERT_TRUE(agent_.AwaitPhase("three", "Failed"));
}

TEST_F(AgentDevicePluginTest, APluginOfAConfiguredResourceIsRefused) {
  SamplePlugin plugin(agent_, directory_.path(), "plimsoll-test.com/own", "device a\n");
  EXPECT_TRUE(AwaitNodeEvent("DevicePluginRefused", "plimsoll-test.com/own"));
  EXPECT_TRUE(plugin.AwaitNode(1, 1));
}

TEST(SamplePluginTest, ADirectoryThatIsMissingIsNamed) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("devices.conf", "device a\n").ok());
  WatchedProgram plugin(
      {ProgramPath("device-plugin"), kTpu, dir.path() + "/devices.conf", dir.path() + "/none"},
      OpenPipe());
  EXPECT_TRUE(plugin.Await([&](const std::string& printed) {
    return absl::StrContains(printed, absl::StrCat("there is no directory ", dir.path(), "/none"));
  })) << plugin.printed();
  EXPECT_EQ(plugin.AwaitEnd(), 1);
}

}  // namespace
}  // namespace plimsoll::testing
