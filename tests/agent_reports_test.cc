// Events and metrics of plimsoll-agent, with kubelet's reasons and names, against a runtime that
// fails at will.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/recorded_agent.h"
#include "harness/sample_plugin.h"
#include "service/exposition_for_test.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kPulledPod[] =
    "{apiVersion: v1, kind: Pod, metadata: {name: pulled}, spec: {containers: [{name: main, image: "
    "nowhere:1}]}}";

class AgentReportsTest : public RecordedAgentTest {
 protected:
  void Fail(const std::string& method, grpc::StatusCode code, const std::string& message) {
    runtime_.Fail(method, grpc::Status(code, message));
  }
  bool AwaitRunning(const std::string& pod) {
    return agent_.Await(pod, [](const Json& object) {
      return object["status"].value("phase", "") == "Running" &&
             object["status"]["containerStatuses"][0].value("ready", false);
    });
  }
  bool AwaitWaiting(const std::string& pod, const std::string& reason) {
    return agent_.Await(pod, [&](const Json& object) {
      const Json& status = object["status"];
      if (!status.contains("containerStatuses")) return false;
      const Json& state = status["containerStatuses"][0]["state"];
      return state.contains("waiting") && state["waiting"].value("reason", "") == reason;
    });
  }
  bool AwaitEvent(const std::string& pod, const std::string& reason) {
    return Eventually([&] { return !agent_.Event(pod, reason).is_null(); });
  }
  Exposition Metrics() { return ParseExposition(agent_.Page("/metrics")); }
  // -1: there is no such value.
  double Value(const std::string& family, const std::string& labels) {
    const Exposition metrics = Metrics();
    const auto it = metrics.find(family);
    if (it == metrics.end()) return -1;
    const auto value = it->second.values.find(family + labels);
    return value == it->second.values.end() ? -1 : value->second;
  }
};

TEST_F(AgentReportsTest, ARefusedContainerIsToldInTheRuntimesWords) {
  Fail("CreateContainer", grpc::StatusCode::INVALID_ARGUMENT, "type rdt has no class tin");
  Apply(PodManifest("web", "true"));
  ASSERT_TRUE(AwaitWaiting("web", "CreateContainerError"));
  const Json event = agent_.Event("web", "Failed");
  EXPECT_EQ(event["message"], "Error: type rdt has no class tin");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["involvedObject"]["fieldPath"], "spec.containers{main}");
  EXPECT_GE(Value("kubelet_started_containers_errors_total",
                  "{container_type=\"container\",code=\"CreateContainerError\"}"),
            1);
  EXPECT_GE(
      Value("kubelet_runtime_operations_errors_total", "{operation_type=\"create_container\"}"), 1);
}

TEST_F(AgentReportsTest, ARefusedSandboxIsToldOnceAndCounted) {
  Fail("PullImage", grpc::StatusCode::UNKNOWN, "no such manifest");
  Apply(kPulledPod);
  ASSERT_TRUE(AwaitEvent("pulled", "Failed"));
  runtime_.Fail("PullImage", grpc::Status::OK);
  const size_t before = runtime_.Sandboxes().size();
  Fail("RunPodSandbox", grpc::StatusCode::INTERNAL, "no network");
  Apply(PodManifest("web", "true"));
  // Both are tried again after ten seconds.
  EXPECT_TRUE(AwaitRunning("pulled"));
  ASSERT_TRUE(
      Eventually([&] { return runtime_.Sandboxes().size() >= before + 2; }, absl::Seconds(60)));
  ASSERT_TRUE(Eventually([this] {
    const Json event = agent_.Event("web", "FailedCreatePodSandBox");
    return !event.is_null() && event["count"] >= 2;
  }));
  const Json event = agent_.Event("web", "FailedCreatePodSandBox");
  EXPECT_EQ(event["message"], "Failed to create pod sandbox: no network");
  EXPECT_NE(event["firstTimestamp"], event["lastTimestamp"]);
  EXPECT_GE(Value("kubelet_started_pods_total", ""), 3);
  EXPECT_GE(Value("kubelet_started_pods_errors_total", ""), 2);
}

TEST_F(AgentReportsTest, AnImageThatCantBePulledPauses) {
  Fail("PullImage", grpc::StatusCode::UNKNOWN, "no such manifest");
  Apply(kPulledPod);
  ASSERT_TRUE(AwaitEvent("pulled", "Failed"));
  const auto events = agent_.client().Events("default", "pulled");
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(Json(*events).dump(),
              HasSubstr("Failed to pull image \\\"nowhere:1\\\": no such manifest"));
  EXPECT_TRUE(AwaitEvent("pulled", "BackOff")) << agent_.Log();
  EXPECT_EQ(agent_.Event("pulled", "BackOff")["message"], "Back-off pulling image \"nowhere:1\"");
  EXPECT_TRUE(AwaitWaiting("pulled", "ImagePullBackOff"));
}

TEST_F(AgentReportsTest, AContainerThatFailsIsToldWithKubeletsReasons) {
  Apply(PodManifest("web", "true"));
  ASSERT_TRUE(AwaitRunning("web"));
  for (const char* reason : {"Pulled", "Created", "Started"}) {
    EXPECT_TRUE(AwaitEvent("web", reason)) << reason;
  }
  ASSERT_TRUE(runtime_.Exit("main", 1));
  ASSERT_TRUE(Eventually([this] { return runtime_.Containers().size() == 2; }));
  // It runs a moment after it was made.
  ASSERT_TRUE(Eventually([this] { return runtime_.Exit("main", 1); }));
  ASSERT_TRUE(AwaitEvent("web", "BackOff"));
  EXPECT_THAT(agent_.Event("web", "BackOff")["message"].get<std::string>(),
              HasSubstr("Back-off restarting failed container main in pod web_default("));
  EXPECT_EQ(agent_.Event("web", "Started")["count"], 2);
}

TEST_F(AgentReportsTest, ADeletedPodsContainersAreToldToEnd) {
  Apply(PodManifest("web", "true"));
  ASSERT_TRUE(AwaitRunning("web"));
  ASSERT_TRUE(agent_.client().Delete("default", "web", 1).ok());
  ASSERT_TRUE(agent_.AwaitGone("web"));
  EXPECT_EQ(agent_.Event("web", "Killing")["message"], "Stopping container main");
}

TEST_F(AgentReportsTest, ANodeThatIsNotReadyAndIsReadyAgainIsTold) {
  const auto times = [this](const std::string& reason) {
    const auto events = agent_.client().Events("", "");
    int64_t count = 0;
    for (const Json& each : events.ok() ? *events : std::vector<Json>()) {
      if (each["reason"] == reason && each["involvedObject"]["kind"] == "Node") {
        count = each["count"];
      }
    }
    return count;
  };
  // The agent may serve before it reports.
  EXPECT_TRUE(Eventually([&] { return times("NodeReady") == 1; })) << agent_.Log();
  Fail("ListPodSandbox", grpc::StatusCode::INTERNAL, "out of order");
  EXPECT_TRUE(Eventually([&] { return times("NodeNotReady") == 1; })) << agent_.Log();
  EXPECT_THAT(agent_.client().Node()->dump(), HasSubstr("out of order"));
  runtime_.Fail("ListPodSandbox", grpc::Status::OK);
  EXPECT_TRUE(Eventually([&] { return times("NodeReady") == 2; })) << agent_.Log();
}

TEST_F(AgentReportsTest, EachMetricIsDocumentedAndEachRowIsServed) {
  Fail("CreateContainer", grpc::StatusCode::INTERNAL, "refused");
  Apply(PodManifest("bad", "true"));
  ASSERT_TRUE(AwaitWaiting("bad", "CreateContainerError"));
  runtime_.Fail("CreateContainer", grpc::Status::OK);
  Apply(PodManifest("web", "true"));
  ASSERT_TRUE(AwaitRunning("web"));
  SamplePlugin plugin(agent_, directory_.path(), "plimsoll-test.com/tpu", "device a\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 1));
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: device}, spec: {containers: [{name: main, "
      "image: busybox, imagePullPolicy: Never, resources: {limits: {plimsoll-test.com/tpu: "
      "1}}}]}}");
  ASSERT_TRUE(AwaitRunning("device"));

  const auto root = FsRoot::Open(SourcePath("."));
  ASSERT_TRUE(root.ok()) << root.status();
  const Exposition documented = ReadMetricsPage(root->Read("docs/agent-metrics.md").value_or(""));
  EXPECT_GT(documented.size(), 15u);
  const Exposition served = Metrics();
  for (const auto& [name, family] : served) {
    const auto row = documented.find(name);
    if (row == documented.end()) {
      ADD_FAILURE() << "docs/agent-metrics.md has no row for " << name;
      continue;
    }
    EXPECT_EQ(row->second.type, family.type) << name;
    // Nothing is probed here.
    if (name != "prober_probe_total") {
      EXPECT_EQ(row->second.labels, family.labels) << name;
    }
    EXPECT_FALSE(family.help.empty()) << name;
    EXPECT_EQ(name.ends_with("_total"), family.type == "counter") << name;
  }
  for (const auto& [name, row] : documented) {
    EXPECT_TRUE(served.contains(name)) << name << " is documented, and not served";
  }
}

TEST_F(AgentReportsTest, EachKeyOfTheConfigurationIsInItsManPage) {
  const auto root = FsRoot::Open(SourcePath("."));
  ASSERT_TRUE(root.ok()) << root.status();
  const std::string page = root->Read("docs/man/plimsoll-agent.yaml.5").value_or("");
  const Json config = Json::parse(agent_.Page("/configz"), nullptr, false);
  ASSERT_TRUE(config.is_object());
  EXPECT_GT(config["kubeletconfig"].size(), 25u);
  for (const auto& [key, value] : config["kubeletconfig"].items()) {
    if (key == "kind") continue;
    EXPECT_THAT(page, HasSubstr(key));
  }
}

TEST_F(AgentReportsTest, ThePackagedConfigurationIsValid) {
  Command command;
  command.argv = {ProgramPath("plimsoll-agent"), "--check-config", "--config",
                  SourcePath("packaging/plimsoll-agent.yaml")};
  const auto checked = RunChecked(command);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(*checked, "configuration is valid\n");
}

TEST_F(AgentReportsTest, MetricsCountPodsAndCalls) {
  EXPECT_EQ(Value("kubelet_started_pods_total", ""), 0);
  EXPECT_EQ(Value("kubelet_started_pods_errors_total", ""), 0);
  Apply(PodManifest("web", "true"));
  ASSERT_TRUE(AwaitRunning("web"));
  EXPECT_EQ(Value("kubelet_running_pods", ""), 1);
  EXPECT_EQ(Value("kubelet_running_containers", "{container_state=\"running\"}"), 1);
  EXPECT_EQ(Value("kubelet_started_pods_total", ""), 1);
  EXPECT_EQ(Value("kubelet_started_containers_total", "{container_type=\"container\"}"), 1);
  EXPECT_EQ(Value("kubelet_runtime_operations_total", "{operation_type=\"run_podsandbox\"}"), 1);
  // The watch for news lists all containers again and again.
  const auto lists = [this] {
    return Value("kubelet_runtime_operations_total", "{operation_type=\"list_containers\"}");
  };
  const double before = lists();
  EXPECT_TRUE(Eventually([&] { return lists() > before; }));
  const Exposition metrics = Metrics();
  EXPECT_EQ(metrics.at("kubelet_pod_start_duration_seconds")
                .values.at("kubelet_pod_start_duration_seconds_count"),
            1);
  EXPECT_GE(metrics.at("kubelet_pod_worker_duration_seconds")
                .values.at("kubelet_pod_worker_duration_seconds_count{operation_type=\"create\"}"),
            1);
  EXPECT_EQ(metrics.at("kubernetes_feature_enabled")
                .values.at("kubernetes_feature_enabled{name=\"ClassResources\",stage=\"ALPHA\"}"),
            1);
  // A pod's end and a restart of the agent leave no start to be counted twice.
  agent_.Kill();
  ASSERT_TRUE(agent_.Start().ok());
  ASSERT_TRUE(AwaitRunning("web"));
  ASSERT_TRUE(runtime_.Exit("main", 1));
  ASSERT_TRUE(Eventually([this] { return runtime_.Containers().size() == 2; }));
  ASSERT_TRUE(AwaitRunning("web"));
  EXPECT_FALSE(Metrics().contains("kubelet_pod_start_duration_seconds"));
}

}  // namespace
}  // namespace plimsoll::testing
