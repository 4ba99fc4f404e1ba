// Probes and hooks of plimsoll-agent over a real plimsolld: restarts, readiness, the order of
// starts, and servers in pods.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/loopback_listener_for_test.h"
#include "dial/server_for_test.h"
#include "harness/agent.h"
#include "harness/kernel.h"
#include "harness/network_node.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Container "main" with further fields, such as probes.
std::string ProbedPod(const std::string& name, const std::string& script, const std::string& fields,
                      const std::string& spec = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
                      "containers: [{name: main, image: busybox, imagePullPolicy: Never, ", fields,
                      ", command: [sh, -c, '", script, "']}]}}\n");
}

// The agent of both fixtures below.
class Agent {
 public:
  explicit Agent(const Node& node)
      : process_(node.directory(), node.address(), "cgroupsPerQOS: false\n") {}

  AgentProcess* operator->() { return &process_; }
  void Begin() {
    const absl::Status started = process_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void End() {
    if (process_.runs()) process_.Kill();
  }
  void Apply(const std::string& manifest) {
    const auto applied = process_.client().Apply(manifest);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  void Delete(const std::string& pod) {
    const absl::Status deleted = process_.client().Delete("default", pod, std::nullopt);
    ASSERT_TRUE(deleted.ok()) << deleted;
    ASSERT_TRUE(process_.AwaitGone(pod));
  }
  // The messages of a pod's events for this reason, oldest first.
  std::string Events(const std::string& pod, const std::string& reason) {
    const auto events = process_.client().Events("default", pod);
    std::string text;
    if (!events.ok()) return text;
    for (const Json& each : *events) {
      if (each["reason"] == reason) absl::StrAppend(&text, each.value("message", ""), "\n");
    }
    return text;
  }

 private:
  AgentProcess process_;
};

class AgentProbesTest : public NodeTest {
 protected:
  AgentProbesTest() : agent_(node_) {}
  void SetUp() override {
    NodeTest::SetUp();
    agent_.Begin();
  }
  void TearDown() override {
    agent_.End();
    NodeTest::TearDown();
  }
  // Runs a command in a pod's container "main".
  void Do(const std::string& pod, const std::string& script) {
    ExecOutput(CriId(ContainerStatus(agent_->Pod(pod))), script);
  }

  Agent agent_;
};

TEST_F(AgentProbesTest, AFailedLivenessProbeRestartsTheContainer) {
  // Restarted though it ends with 0, as by kubelet.
  agent_.Apply(ProbedPod("alive", "trap \"exit 0\" TERM; touch /ok; while :; do sleep 0.1; done",
                         "livenessProbe: {exec: {command: [ls, /ok]}, periodSeconds: 1, "
                         "failureThreshold: 2, timeoutSeconds: 5}",
                         "restartPolicy: OnFailure, "));
  ASSERT_TRUE(agent_->Await("alive", IsReady));
  const std::string first = CriId(ContainerStatus(agent_->Pod("alive")));
  Do("alive", "until rm /ok; do sleep 0.1; done");
  ASSERT_TRUE(agent_->Await("alive", [](const Json& pod) {
    return ContainerStatus(pod)["restartCount"] == 1 &&
           ContainerStatus(pod)["state"].contains("running");
  }));
  const Json pod = agent_->Pod("alive");
  EXPECT_NE(CriId(ContainerStatus(pod)), first);
  EXPECT_EQ(ContainerStatus(pod)["lastState"]["terminated"]["exitCode"], 0);
  EXPECT_THAT(agent_.Events("alive", "Unhealthy"), HasSubstr("Liveness probe failed: ls: /ok"));
  EXPECT_THAT(agent_.Events("alive", "Killing"),
              HasSubstr("Container main failed liveness probe, will be restarted"));
  agent_.Delete("alive");
}

TEST_F(AgentProbesTest, AProbesGracePeriodGoesBeforeThePods) {
  agent_.Apply(
      ProbedPod("stubborn", "trap true TERM; while :; do sleep 0.1; done",
                "livenessProbe: {exec: {command: [\"false\"]}, periodSeconds: 1, "
                "failureThreshold: 1, timeoutSeconds: 5, terminationGracePeriodSeconds: 1}",
                "terminationGracePeriodSeconds: 600, restartPolicy: Never, "));
  ASSERT_TRUE(agent_->AwaitPhase("stubborn", "Failed"));
  EXPECT_EQ(ContainerStatus(agent_->Pod("stubborn"))["state"]["terminated"]["exitCode"], 137);
  EXPECT_THAT(agent_.Events("stubborn", "Killing"),
              HasSubstr("Container main failed liveness probe\n"));
  agent_.Delete("stubborn");
}

TEST_F(AgentProbesTest, ACommandThatHangsIsEndedAndHasFailed) {
  agent_.Apply(ProbedPod("hangs", kUntilTerm,
                         "livenessProbe: {exec: {command: [sleep, \"1000\"]}, periodSeconds: 1, "
                         "failureThreshold: 1}",
                         "terminationGracePeriodSeconds: 1, "));
  ASSERT_TRUE(agent_->Await("hangs", [](const Json& pod) {
    return ContainerStatus(pod)["restartCount"].get<int>() >= 1;
  }));
  EXPECT_THAT(agent_.Events("hangs", "Unhealthy"),
              HasSubstr("Liveness probe failed: command sleep 1000 timed out after 1s"));
  agent_.Delete("hangs");
}

TEST_F(AgentProbesTest, ReadinessComesAndGoes) {
  agent_.Apply(ProbedPod("web", kUntilTerm,
                         "readinessProbe: {exec: {command: [ls, /ready]}, periodSeconds: 1, "
                         "failureThreshold: 1, timeoutSeconds: 5}"));
  ASSERT_TRUE(agent_->AwaitPhase("web", "Running"));
  EXPECT_FALSE(IsReady(agent_->Pod("web")));
  Do("web", "touch /ready");
  ASSERT_TRUE(agent_->Await("web", IsReady));
  EXPECT_EQ(ConditionOf(agent_->Pod("web"), "Ready")["status"], "True");
  Do("web", "rm /ready");
  ASSERT_TRUE(agent_->Await("web", [](const Json& pod) { return !IsReady(pod); }));
  const Json condition = ConditionOf(agent_->Pod("web"), "Ready");
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["reason"], "ContainersNotReady");
  EXPECT_EQ(condition["message"], "containers with unready status: [main]");
  EXPECT_EQ(ContainerStatus(agent_->Pod("web"))["restartCount"], 0);
  const std::string series =
      "prober_probe_total{probe_type=\"Readiness\",result=\"failed\","
      "container=\"main\",pod=\"web\",namespace=\"default\",pod_uid=";
  EXPECT_THAT(agent_->Page("/metrics"), HasSubstr(series));
  agent_.Delete("web");
  EXPECT_TRUE(
      Eventually([this] { return !absl::StrContains(agent_->Page("/metrics"), "pod=\"web\""); }));
}

// The sidecar's startup probe fails from its success on: a second run would end the sidecar.
TEST_F(AgentProbesTest, AStartupProbeHoldsUpTheNextContainersAndIsNotRepeated) {
  agent_.Apply(absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: order}, spec: {"
      "initContainers: [{name: side, image: busybox, imagePullPolicy: Never, restartPolicy: Always,"
      " startupProbe: {exec: {command: [rm, /started]}, periodSeconds: 1, failureThreshold: 300,"
      " timeoutSeconds: 5}, command: [sh, -c, '",
      kUntilTerm, "']}], containers: [{name: main, image: busybox, imagePullPolicy: Never,",
      " command: [sh, -c, '", kUntilTerm, "']}]}}"));
  const auto side = [](const Json& pod) { return pod["status"]["initContainerStatuses"][0]; };
  ASSERT_TRUE(agent_->Await(
      "order", [&](const Json& pod) { return side(pod)["state"].contains("running"); }));
  ASSERT_TRUE(Eventually([&] {
    return absl::StrContains(agent_.Events("order", "Unhealthy"), "Startup probe failed: rm: ");
  }));
  const Json before = agent_->Pod("order");
  EXPECT_EQ(side(before)["started"], false);
  EXPECT_EQ(ConditionOf(before, "Initialized")["status"], "False");
  EXPECT_TRUE(ContainerStatus(before)["state"].contains("waiting"));
  const std::string id = CriId(side(before));
  ExecOutput(id, "touch /started");
  ASSERT_TRUE(agent_->Await("order", IsReady));
  EXPECT_EQ(side(agent_->Pod("order"))["started"], true);
  agent_->Kill();
  agent_.Begin();
  ASSERT_TRUE(agent_->Await("order", IsReady));
  EXPECT_TRUE(
      agent_->Await("order", [&](const Json& pod) { return side(pod)["started"] == true; }));
  EXPECT_EQ(CriId(side(agent_->Pod("order"))), id);
  agent_.Delete("order");
}

TEST_F(AgentProbesTest, AServerOnTheHostsNetworkIsProbedByHttpAndTcp) {
  uint16_t port = 0;
  {
    const LoopbackListener free_port(AF_INET);
    port = free_port.port();
  }
  agent_.Apply(ProbedPod(
      "http", absl::StrCat("exec /bin/busybox httpd -f -p 127.0.0.1:", port, " -h /"),
      absl::StrCat("readinessProbe: {httpGet: {host: 127.0.0.1, port: ", port,
                   ", path: /page}, periodSeconds: 1, failureThreshold: 1}, livenessProbe: "
                   "{tcpSocket: {host: 127.0.0.1, port: ",
                   port, "}, periodSeconds: 1}"),
      "hostNetwork: true, terminationGracePeriodSeconds: 1, "));
  ASSERT_TRUE(Eventually([&] {
    return absl::StrContains(agent_.Events("http", "Unhealthy"),
                             "Readiness probe failed: HTTP probe failed with statuscode: 404");
  }));
  EXPECT_FALSE(IsReady(agent_->Pod("http")));
  Do("http", "echo hello > /page");
  ASSERT_TRUE(agent_->Await("http", IsReady));
  EXPECT_EQ(ContainerStatus(agent_->Pod("http"))["restartCount"], 0);
  agent_.Delete("http");
}

TEST_F(AgentProbesTest, HooksAreGetsByHttp) {
  dial::TestServer server([](const std::string&) { return dial::Answer(200, ""); });
  const std::string get =
      absl::StrCat("{httpGet: {host: 127.0.0.1, port: ", server.port(), ", path: ");
  agent_.Apply(ProbedPod(
      "hooked", kUntilTerm,
      absl::StrCat("lifecycle: {postStart: ", get, "/start}}, preStop: ", get, "/stop}}}")));
  ASSERT_TRUE(agent_->Await("hooked", IsReady));
  EXPECT_THAT(server.requests(), ::testing::ElementsAre(StartsWith("GET /start ")));
  agent_.Delete("hooked");
  EXPECT_THAT(server.requests(),
              ::testing::ElementsAre(StartsWith("GET /start "), StartsWith("GET /stop ")));
}

TEST_F(AgentProbesTest, AGetThatNobodyAnswersFailsItsHook) {
  uint16_t port = 0;
  {
    const LoopbackListener closed(AF_INET);
    port = closed.port();
  }
  agent_.Apply(ProbedPod(
      "unheard", kUntilTerm,
      absl::StrCat("lifecycle: {postStart: {httpGet: {host: 127.0.0.1, port: ", port, "}}}"),
      "restartPolicy: Never, terminationGracePeriodSeconds: 1, "));
  // The signal may come before the program listens: then it is killed.
  ASSERT_TRUE(agent_->Await("unheard", [](const Json& pod) {
    return ContainerStatus(pod)["state"].contains("terminated");
  }));
  EXPECT_THAT(agent_.Events("unheard", "FailedPostStartHook"),
              HasSubstr(absl::StrCat("PostStartHook failed: connect to 127.0.0.1:", port,
                                     ": Connection refused")));
  agent_.Delete("unheard");
}

class AgentProbesNetworkTest : public NetworkNodeTest {
 protected:
  AgentProbesNetworkTest() : agent_(node_) {}
  void SetUp() override {
    NetworkNodeTest::SetUp();
    if (!IsSkipped()) agent_.Begin();
  }
  void TearDown() override {
    agent_.End();
    NetworkNodeTest::TearDown();
  }

  Agent agent_;
};

TEST_F(AgentProbesNetworkTest, AServerIsProbedAtItsPodsAddress) {
  agent_.Apply(
      ProbedPod("http", "echo hello > /page; exec /bin/busybox httpd -f -p 8080 -h /",
                "ports: [{name: web, containerPort: 8080}], readinessProbe: {httpGet: {port: "
                "web, path: /page}, periodSeconds: 1}",
                "terminationGracePeriodSeconds: 1, "));
  ASSERT_TRUE(agent_->Await("http", IsReady));
  EXPECT_THAT(agent_->Pod("http")["status"].value("podIP", ""), StartsWith("10.191."));
  agent_.Delete("http");
}

}  // namespace
}  // namespace plimsoll::testing
