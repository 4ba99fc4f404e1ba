// plimsoll-agent over a real plimsolld: pods of files and of the API, and what becomes of them when
// one of the two programs dies.
#include "harness/agent.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string RuntimeIdOf(const Json& pod) {
  return ContainerStatus(pod).value("containerID", "");
}

class AgentTest : public NodeAgentTest {
 protected:
  explicit AgentTest(const std::string& config = "cgroupsPerQOS: false\n",
                     const std::string& daemon_config = "")
      : NodeAgentTest(config, daemon_config) {}
  void SetUp() override {
    NodeTest::SetUp();
    Begin();
  }
  // The answer of /healthz; empty: none.
  std::string Health() {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    agent_.socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const std::string request = "GET /healthz HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n";
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        write(fd.get(), request.data(), request.size()) < 0) {
      return "";
    }
    std::string answer;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(fd.get(), buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(count));
    }
    return answer;
  }
  size_t Sandboxes() {
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
    return static_cast<size_t>(response.items_size());
  }
};

TEST_F(AgentTest, APodOfAFileRunsChangesAndGoes) {
  agent_.WriteManifest("web.yaml", PodManifest("web", kUntilTerm));
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const Json first = agent_.Pod("web");
  EXPECT_EQ(first["metadata"]["annotations"]["kubernetes.io/config.source"], "file");
  EXPECT_EQ(first["spec"]["nodeName"], "test-node");
  EXPECT_THAT(RuntimeIdOf(first), HasSubstr("plimsoll://"));

  agent_.WriteManifest("web.yaml", PodManifest("web", absl::StrCat("true; ", kUntilTerm)));
  ASSERT_TRUE(agent_.Await("web", [&](const Json& pod) {
    return pod["metadata"]["uid"] != first["metadata"]["uid"] && IsReady(pod);
  }));
  EXPECT_EQ(Sandboxes(), 1u);

  agent_.RemoveManifest("web.yaml");
  ASSERT_TRUE(agent_.AwaitGone("web"));
  EXPECT_EQ(Sandboxes(), 0u);
  EXPECT_TRUE(Host().List(agent_.state_directory() + "/pods")->empty());
}

TEST_F(AgentTest, APodOfTheApiRunsToItsEnd) {
  Apply(PodManifest("job", "echo done; exit 3", "restartPolicy: Never, "));
  ASSERT_TRUE(agent_.AwaitPhase("job", "Failed"));
  const Json pod = agent_.Pod("job");
  EXPECT_EQ(ContainerStatus(pod)["state"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(ContainerStatus(pod)["restartCount"], 0);
  EXPECT_TRUE(HasEvent("job", "Started"));
  // The ended container's log stays until the pod is deleted.
  EXPECT_EQ(Sandboxes(), 1u);
  Delete("job");
  ASSERT_TRUE(agent_.AwaitGone("job"));
  EXPECT_EQ(Sandboxes(), 0u);
}

TEST_F(AgentTest, AContainerThatFailsIsRestartedAndThenWaits) {
  Apply(PodManifest("crash", "exit 1"));
  ASSERT_TRUE(agent_.Await("crash", [](const Json& pod) {
    const Json& state = ContainerStatus(pod)["state"];
    return state.contains("waiting") && state["waiting"]["reason"] == "CrashLoopBackOff" &&
           ContainerStatus(pod)["restartCount"] == 1;
  }));
  const Json pod = agent_.Pod("crash");
  EXPECT_EQ(pod["status"]["phase"], "Running");
  EXPECT_EQ(ContainerStatus(pod)["lastState"]["terminated"]["exitCode"], 1);
  EXPECT_TRUE(HasEvent("crash", "BackOff"));
  Delete("crash");
  ASSERT_TRUE(agent_.AwaitGone("crash"));
}

// A sidecar's program may be slower than the next container's: that one waits for its line.
TEST_F(AgentTest, InitContainersRunFirstAndSidecarsEndLast) {
  Apply(absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: order}, spec: {restartPolicy: Never,"
      "volumes: [{name: v, emptyDir: {}}],"
      "initContainers: [{name: init, image: busybox, imagePullPolicy: Never,"
      " command: [sh, -c, 'echo init > /v/order'], volumeMounts: [{name: v, mountPath: /v}]},"
      "{name: side, image: busybox, imagePullPolicy: Never, restartPolicy: Always, command: [sh,"
      " -c, 'echo side >> /v/order; ",
      kUntilTerm,
      "'], volumeMounts: [{name: v, mountPath: /v}]}],"
      "containers: [{name: main, image: busybox, imagePullPolicy: Never, command: [sh, -c,"
      " 'until grep -q side /v/order; do sleep 0.1; done;"
      " test \"$(tr \"\\n\" \" \" < /v/order)\" = \"init side \"'],"
      " volumeMounts: [{name: v, mountPath: /v}]}]}}"));
  ASSERT_TRUE(agent_.AwaitPhase("order", "Succeeded"));
  const Json pod = agent_.Pod("order");
  const Json& inits = pod["status"]["initContainerStatuses"];
  EXPECT_EQ(inits[0]["state"]["terminated"]["exitCode"], 0);
  EXPECT_TRUE(inits[1]["state"].contains("terminated"));
  const int64_t side_started = Status(CriId(inits[1])).started_at();
  EXPECT_LE(Status(CriId(inits[0])).finished_at(), side_started);
  EXPECT_LE(side_started, Status(CriId(ContainerStatus(pod))).created_at());
  Delete("order");
  ASSERT_TRUE(agent_.AwaitGone("order"));
}

TEST_F(AgentTest, AKilledAgentGoesOnWhereItWas) {
  agent_.WriteManifest("web.yaml", PodManifest("web", kUntilTerm));
  Apply(PodManifest("api", kUntilTerm));
  ASSERT_TRUE(agent_.Await("web", IsReady));
  ASSERT_TRUE(agent_.Await("api", IsReady));
  const std::string web = RuntimeIdOf(agent_.Pod("web"));
  const std::string api = RuntimeIdOf(agent_.Pod("api"));
  for (int i = 0; i < 3; ++i) {
    agent_.Kill();
    Begin();
    ASSERT_TRUE(agent_.Await("web", IsReady));
    ASSERT_TRUE(agent_.Await("api", IsReady));
    EXPECT_EQ(RuntimeIdOf(agent_.Pod("web")), web);
    EXPECT_EQ(RuntimeIdOf(agent_.Pod("api")), api);
  }
  EXPECT_EQ(Sandboxes(), 2u);
  // A file that went while no agent lived.
  agent_.Kill();
  agent_.RemoveManifest("web.yaml");
  Begin();
  ASSERT_TRUE(agent_.AwaitGone("web"));
  Delete("api");
  ASSERT_TRUE(agent_.AwaitGone("api"));
}

TEST_F(AgentTest, AnEndThatWasAskedForIsCarriedOutAfterAKill) {
  Apply(PodManifest("slow", "trap true TERM; while :; do sleep 0.1; done",
                    "terminationGracePeriodSeconds: 600, "));
  ASSERT_TRUE(agent_.Await("slow", IsReady));
  Delete("slow");
  ASSERT_TRUE(agent_.Await(
      "slow", [](const Json& pod) { return pod["metadata"].contains("deletionTimestamp"); }));
  agent_.Kill();
  Begin();
  ASSERT_TRUE(agent_.Await("slow", [](const Json& pod) {
    return pod["metadata"].value("deletionGracePeriodSeconds", 0) == 600;
  }));
  // A shorter grace period overtakes it.
  Delete("slow", 0);
  ASSERT_TRUE(agent_.AwaitGone("slow"));
}

TEST_F(AgentTest, AShorterDeletionCutsAHookShort) {
  Apply(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: hook}, spec: {"
                   "terminationGracePeriodSeconds: 600, containers: [{name: main, image: busybox, "
                   "imagePullPolicy: Never, lifecycle: {preStop: {sleep: {seconds: 500}}}, "
                   "command: [sh, -c, '",
                   kUntilTerm, "']}]}}"));
  ASSERT_TRUE(agent_.Await("hook", IsReady));
  Delete("hook");
  ASSERT_TRUE(agent_.Await(
      "hook", [](const Json& pod) { return pod["metadata"].contains("deletionTimestamp"); }));
  EXPECT_TRUE(Eventually([&] { return HasEvent("hook", "Killing"); }));
  EXPECT_EQ(Sandboxes(), 1u) << "the hook is waited for";
  Delete("hook", 1);
  ASSERT_TRUE(agent_.AwaitGone("hook"));
}

TEST_F(AgentTest, APodOutlivesItsDaemonAndItsRestarts) {
  Apply(PodManifest("web", kUntilTerm));
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const std::string id = RuntimeIdOf(agent_.Pod("web"));
  node_.KillDaemon();
  EXPECT_TRUE(Eventually([&] {
    const auto node = agent_.client().Node();
    return node.ok() && node->dump().find("KubeletNotReady") != std::string::npos;
  }));
  EXPECT_THAT(Health(), HasSubstr("503"));
  // Taken while the runtime is away, and run once it is back.
  Apply(PodManifest("late", kUntilTerm));
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  ASSERT_TRUE(agent_.Await("late", IsReady));
  // The node hears of the runtime apart from the pods.
  EXPECT_TRUE(Eventually([this] { return absl::StrContains(Health(), "200"); })) << Health();
  EXPECT_EQ(RuntimeIdOf(agent_.Pod("web")), id);
  EXPECT_EQ(ContainerStatus(agent_.Pod("web"))["restartCount"], 0);
}

// With kubepods below a group of the test's own.
class AgentGroupsTest : public AgentTest {
 protected:
  AgentGroupsTest()
      : AgentTest(absl::StrCat("cgroupDriver: cgroupfs\ncgroupRoot: /plimsoll-agent-test-",
                               getpid(), "\n")),
        root_(absl::StrCat("/plimsoll-agent-test-", getpid())) {}
  void SetUp() override {
    const auto made = Cgroups().Create(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    AgentTest::SetUp();
  }
  void TearDown() override {
    AgentTest::TearDown();
    EXPECT_TRUE(Cgroups().Remove(root_).ok());
  }
  const std::string root_;
};

TEST_F(AgentGroupsTest, APodHasAGroupWithItsLimits) {
  Apply(absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: "
      "main, image: busybox, imagePullPolicy: Never, command: [sh, -c, '",
      kUntilTerm, "'], resources: {requests: {cpu: 100m}, limits: {memory: 64Mi, cpu: 500m}}}]}}"));
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const std::string uid = agent_.Pod("web")["metadata"]["uid"];
  const std::string group = absl::StrCat(root_, "/kubepods/burstable/pod", uid);
  const auto settings = Cgroups().Read(group);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->memory_limit_bytes, 64 << 20);
  EXPECT_EQ(settings->cpu_quota_us, 50000);
  Delete("web");
  ASSERT_TRUE(agent_.AwaitGone("web"));
  EXPECT_FALSE(CgroupExists(group));
}

// The program's own process goes on where the kernel kills its child alone.
TEST_F(AgentGroupsTest, AnOomKillTakesTheWholeContainer) {
  if (Cgroups().layout() != linux::CgroupLayout::kV2) GTEST_SKIP() << "needs cgroup v2";
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: hog}, spec: {restartPolicy: Never, containers: "
      "[{name: main, image: busybox, imagePullPolicy: Never, command: [sh, -c, 'tail -c 1000000000 "
      "/dev/zero > /dev/null; while :; do sleep 1; done'], resources: {limits: {memory: "
      "16Mi}}}]}}");
  ASSERT_TRUE(
      agent_.Await("hog", [](const Json& pod) { return pod["status"]["phase"] == "Failed"; }));
  const Json ended = agent_.Pod("hog")["status"]["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended.value("reason", ""), "OOMKilled");
  EXPECT_EQ(ended.value("exitCode", 0), 137);
}

// With a type of classes in the daemon's configuration.
class AgentClassesTest : public AgentTest {
 protected:
  explicit AgentClassesTest(const std::string& config = "cgroupsPerQOS: false\n")
      : AgentTest(config, kOomClasses) {}
  void ApplyWith(const std::string& name, const std::string& annotations) {
    Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", annotations: {",
                       annotations,
                       "}}, spec: {containers: [{name: main, image: busybox, imagePullPolicy: "
                       "Never, command: [sh, -c, '",
                       kUntilTerm, "'], resources: {requests: {cpu: 0.10, memory: 1e6}}}]}}"));
  }
  cri::ContainerStatus StatusOf(const std::string& pod) {
    return Status(CriId(ContainerStatus(agent_.Pod(pod))));
  }
  // The status of the only pod.
  cri::PodSandboxStatus SandboxStatus() {
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
    EXPECT_EQ(response.items_size(), 1);
    return PodStatus(response.items(0).id());
  }
};

TEST_F(AgentClassesTest, AnAnnotationIsAClassOfTheRequest) {
  ApplyWith("web", "oom.class.plimsoll.dev/container.main: soon");
  ASSERT_TRUE(agent_.Await("web", IsReady));
  EXPECT_EQ(StatusOf("web").class_resources().classes().at("oom"), "soon");
}

TEST_F(AgentClassesTest, AClassThatTheNodeLacksIsRejectedWithThoseItHas) {
  ApplyWith("web", "oom.class.plimsoll.dev/default: sooner");
  ASSERT_TRUE(agent_.AwaitPhase("web", "Failed"));
  const Json status = agent_.Pod("web")["status"];
  EXPECT_EQ(status["reason"], "UnknownClass");
  EXPECT_THAT(status["message"].get<std::string>(), HasSubstr("its classes: first, soon"));
  EXPECT_EQ(Sandboxes(), 0u);
}

TEST_F(AgentClassesTest, TheRuntimeKnowsTheWholePodBeforeItsContainers) {
  ApplyWith("web", "");
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const cri::PodResourceConfig picture = SandboxStatus().pod_resources();
  ASSERT_EQ(picture.containers_size(), 1);
  EXPECT_EQ(picture.containers(0).name(), "main");
  const auto& requests = picture.containers(0).kubernetes_resources().requests();
  EXPECT_EQ(requests.at("cpu").string(), "0.10");
  EXPECT_EQ(requests.at("memory").string(), "1e6");
}

class AgentGatesOffTest : public AgentClassesTest {
 protected:
  AgentGatesOffTest()
      : AgentClassesTest(
            "cgroupsPerQOS: false\nfeatureGates: {ClassResources: false, "
            "KubeletContainerResourcesInPodSandbox: false}\n") {}
};

TEST_F(AgentGatesOffTest, AnnotationsAndThePodsPictureAreLeftOut) {
  ApplyWith("web", "oom.class.plimsoll.dev/default: sooner");
  ASSERT_TRUE(agent_.Await("web", IsReady));
  EXPECT_FALSE(StatusOf("web").class_resources().classes().contains("oom"));
  EXPECT_EQ(SandboxStatus().pod_resources().containers_size(), 0);
}

TEST_F(AgentTest, APodThatDoesNotFitIsRejected) {
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: main, "
      "image: busybox, resources: {requests: {cpu: 200}}}]}}");
  ASSERT_TRUE(agent_.AwaitPhase("big", "Failed"));
  const Json pod = agent_.Pod("big");
  EXPECT_EQ(pod["status"]["reason"], "OutOfcpu");
  EXPECT_THAT(pod["status"]["message"].get<std::string>(), HasSubstr("requested: 200000"));
  EXPECT_EQ(Sandboxes(), 0u);
  Delete("big");
  ASSERT_TRUE(agent_.AwaitGone("big"));
}

TEST_F(AgentTest, MistakesAreToldAndNothingIsMade) {
  const auto twice =
      agent_.client().Apply(PodManifest("web", kUntilTerm) + "---\nkind: Nonsense\n");
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(agent_.client().List("")->empty());
  Apply(PodManifest("web", kUntilTerm));
  const auto other = agent_.client().Apply(PodManifest("web", "true"));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("/spec/containers/0/command"));
  Apply(PodManifest("web", kUntilTerm));
  EXPECT_EQ(agent_.client().Delete("default", "nobody", 0).code(), absl::StatusCode::kNotFound);
  agent_.WriteManifest("f.yaml", PodManifest("file", kUntilTerm));
  ASSERT_TRUE(agent_.Await("file", IsReady));
  EXPECT_EQ(agent_.client().Delete("default", "file", 0).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(AgentTest, AMissingImageIsTriedAgain) {
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: main, "
      "image: nowhere, imagePullPolicy: Never}]}}");
  ASSERT_TRUE(agent_.Await("p", [](const Json& pod) {
    const Json& state = ContainerStatus(pod)["state"];
    return state.contains("waiting") && state["waiting"]["reason"] == "ErrImageNeverPull";
  }));
  EXPECT_EQ(agent_.Phase("p"), "Pending");
  Delete("p", 0);
  ASSERT_TRUE(agent_.AwaitGone("p"));
}

TEST_F(AgentTest, ASecondAgentIsRefused) {
  AgentProcess second(node_.directory(), node_.address(), "cgroupsPerQOS: false\n");
  const absl::Status started = second.Start();
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("state directory"));
}

TEST_F(AgentTest, AKubeletsPodKeepsTheAgentAway) {
  ASSERT_TRUE(agent_.Stop().ok());
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = config.metadata().uid();
  RunPod(config);
  const absl::Status started = agent_.Start();
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("was made by a kubelet"));
}

}  // namespace
}  // namespace plimsoll::testing
