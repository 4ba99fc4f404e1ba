// plimsoll-agent over Debian's containerd, a runtime without any of the proposals' calls and
// fields. tools/matrix runs it with the containerd of other releases.
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent_runs_fixture.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "harness/containerd.h"
#include "harness/kernel.h"
#include "harness/sub_path_trap.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

namespace cri = ::runtime::v1;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kClass[] = "tier.class.plimsoll.dev/default: low";

std::string Gate(const std::string& gate, bool on) {
  return absl::StrCat("featureGates: {", gate, ": ", on ? "true" : "false", "}\n");
}

Json MemoryPatch() {
  const Json container = {{"name", "main"}, {"resources", {{"limits", {{"memory", "128Mi"}}}}}};
  return {{"spec", {{"containers", Json::array({container})}}}};
}

// An agent whose pods are on the host's network: this containerd has no other.
class AgentContainerdTest : public ::testing::Test {
 protected:
  AgentContainerdTest()
      : root_(absl::StrCat("/plimsoll-agent-test-", getpid())),
        containerd_(directory_.path()),
        agents_(directory_.path(), containerd_.address()) {}

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "containers need root";
    const absl::Status programs = Containerd::CheckPrograms();
    if (!programs.ok()) GTEST_SKIP() << programs << " (packaging/debian-packages)";
    const auto made = Cgroups().Create(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    // The agent's mounts are to arrive in containerd's namespace, as they do on a machine whose
    // mounts are shared.
    ASSERT_TRUE(linux::BindMount(directory_.path(), directory_.path()).ok());
    ASSERT_EQ(mount(nullptr, directory_.path().c_str(), nullptr, MS_SHARED, nullptr), 0);
    const absl::Status started = containerd_.Start();
    ASSERT_TRUE(started.ok()) << started;
    const absl::Status imported = containerd_.ImportBusybox();
    ASSERT_TRUE(imported.ok()) << imported;
  }
  void TearDown() override {
    if (IsSkipped()) return;
    agents_.Kill();
    const absl::Status ended = containerd_.End();
    EXPECT_TRUE(ended.ok()) << ended;
    EXPECT_THAT(ProcessesWith(directory_.path()), IsEmpty());
    EXPECT_TRUE(linux::Unmount(directory_.path(), /*lazy=*/true).ok());
    EXPECT_THAT(MountsBelow(directory_.path()), IsEmpty());
    const auto processes = Cgroups().Processes(root_, /*recursive=*/true);
    EXPECT_TRUE(!processes.ok() || processes->empty());
    EXPECT_TRUE(Cgroups().Remove(root_).ok());
    if (HasFailure()) GTEST_LOG_(INFO) << containerd_.Log();
  }

  void Begin(const std::string& config = "") {
    agents_.Begin(absl::StrCat("cgroupRoot: ", root_, "\n", config));
  }
  void Apply(const std::string& name, const std::string& script, const std::string& spec = "") {
    agents_.Apply(PodManifest(name, script, absl::StrCat("hostNetwork: true, ", spec)));
  }
  // With annotations, and resources of the container.
  void ApplyWith(const std::string& name, const std::string& annotations,
                 const std::string& resources = "") {
    agents_.Apply(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", annotations: {", annotations,
        "}}, spec: {hostNetwork: true, containers: [{name: main, image: busybox, imagePullPolicy: "
        "Never, command: [sh, -c, '",
        kUntilTerm, "'], resources: {", resources, "}}]}}"));
  }
  cri::ContainerStatus Status(const std::string& container) {
    cri::ContainerStatusRequest request;
    request.set_container_id(container);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(containerd_.runtime().ContainerStatus(&context, request, &response).ok());
    return response.status();
  }
  size_t Sandboxes() {
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(containerd_.runtime().ListPodSandbox(&context, {}, &response).ok());
    return static_cast<size_t>(response.items_size());
  }
  std::string GroupOf(const std::string& pod, const std::string& qos) {
    const std::string uid = agents_->Pod(pod)["metadata"]["uid"];
    return absl::StrCat(root_, "/kubepods/", qos, "/pod", uid);
  }
  // The settings of the pod's container, from the kernel.
  linux::CgroupSettings SettingsOf(const std::string& pod, const std::string& qos) {
    const auto settings =
        Cgroups().Read(absl::StrCat(GroupOf(pod, qos), "/", MainId(agents_->Pod(pod))));
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.value_or(linux::CgroupSettings());
  }

  // The answer of the agent's API with its header, up to its end.
  std::string Ask(const std::string& method, const std::string& path) {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    agents_->socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const std::string request =
        absl::StrCat(method, " /api/v1/namespaces/default/pods/", path,
                     " HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(write(fd.get(), request.data(), request.size()), ssize_t(request.size()));
    std::string answer;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(fd.get(), buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(count));
    }
    return answer;
  }

  TestDir directory_;
  const std::string root_;
  Containerd containerd_;
  AgentRuns agents_;
};

TEST_F(AgentContainerdTest, TheMachinesOwnTopologyMakesTheNode) {
  Begin();
  EXPECT_THAT(agents_->Log(), HasSubstr("the runtime has no GetDynamicRuntimeConfig"));
  EXPECT_TRUE(Eventually([this] { return agents_.NodeReady()["status"] == "True"; }));
  const Json node = *agents_->client().Node();
  EXPECT_THAT(node["status"]["nodeInfo"]["containerRuntimeVersion"].get<std::string>(),
              HasSubstr("containerd://"));
  const Json fallen_back = agents_.Capacity();
  EXPECT_EQ(fallen_back["cpu"], absl::StrCat(sysconf(_SC_NPROCESSORS_ONLN)));

  Begin(Gate("KubeletResourceDiscoveryFromCRI", false));
  EXPECT_EQ(agents_.Capacity(), fallen_back);

  Begin("resourceDiscovery: cri\n");
  EXPECT_EQ(agents_.NodeReady()["status"], "False");
  EXPECT_EQ(agents_.NodeReady()["reason"], "TopologyUnsupported");
  const auto applied =
      agents_->client().Apply(PodManifest("web", kUntilTerm, "hostNetwork: true, "));
  EXPECT_EQ(applied.status().code(), absl::StatusCode::kUnavailable) << applied.status();
  EXPECT_EQ(Sandboxes(), 0u);
}

TEST_F(AgentContainerdTest, APodOfAFileRunsChangesAndGoes) {
  Begin();
  const std::string spec = "hostNetwork: true, ";
  agents_->WriteManifest("web.yaml", PodManifest("web", kUntilTerm, spec));
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json first = agents_->Pod("web");
  EXPECT_THAT(ContainerStatus(first).value("containerID", ""), HasSubstr("containerd://"));

  agents_->WriteManifest("web.yaml", PodManifest("web", absl::StrCat("true; ", kUntilTerm), spec));
  ASSERT_TRUE(agents_->Await("web", [&](const Json& pod) {
    return pod["metadata"]["uid"] != first["metadata"]["uid"] && IsReady(pod);
  }));
  EXPECT_EQ(Sandboxes(), 1u);

  agents_->RemoveManifest("web.yaml");
  ASSERT_TRUE(agents_->AwaitGone("web"));
  EXPECT_EQ(Sandboxes(), 0u);
}

// This runtime mounts at the container's start, long after its creation.
TEST_F(AgentContainerdTest, ADirectoryThatBecomesALinkIsNoWayOut) {
  Begin();
  SubPathTrap trap(directory_.path(), /*visits=*/12);
  agents_.Apply(trap.Manifest("hostNetwork: true, "));
  ASSERT_TRUE(agents_->AwaitPhase("visits", "Succeeded"));
  trap.ExpectAllInside();
  const auto binds = [this] { return MountsBelow(agents_->state_directory()); };
  EXPECT_TRUE(Eventually([&] { return binds().empty(); }));
  agents_.Delete("visits");
}

TEST_F(AgentContainerdTest, ContainersEndAndAreRestarted) {
  Begin();
  Apply("job", "echo done; exit 3", "restartPolicy: Never, ");
  Apply("crash", "exit 1");
  ASSERT_TRUE(agents_->AwaitPhase("job", "Failed"));
  const Json job = agents_->Pod("job");
  EXPECT_EQ(ContainerStatus(job)["state"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(ContainerStatus(job)["restartCount"], 0);
  ASSERT_TRUE(agents_->Await("crash", [](const Json& pod) {
    const Json& state = ContainerStatus(pod)["state"];
    return state.contains("waiting") && state["waiting"]["reason"] == "CrashLoopBackOff" &&
           ContainerStatus(pod)["restartCount"] == 1;
  }));
  EXPECT_EQ(ContainerStatus(agents_->Pod("crash"))["lastState"]["terminated"]["exitCode"], 1);
  agents_.Delete("job");
  agents_.Delete("crash");
  EXPECT_EQ(Sandboxes(), 0u);
}

TEST_F(AgentContainerdTest, LogsAreReadAndCommandsAreGivenAUrl) {
  Begin();
  Apply("web", absl::StrCat("echo ready; ", kUntilTerm));
  ASSERT_TRUE(agents_->Await("web", IsReady));
  EXPECT_TRUE(Eventually([this] { return absl::StrContains(Ask("GET", "web/log"), "ready\n"); }));
  EXPECT_THAT(Ask("POST", "web/exec?command=true"), HasSubstr("\"http://127.0.0.1:"));
}

// A sidecar's program may be slower than the next container's: that one waits for its line.
TEST_F(AgentContainerdTest, InitContainersRunFirstAndSidecarsEndLast) {
  Begin();
  const std::string main =
      "until grep -q side /v/order; do sleep 0.1; done; test \"$(tr \"\\n\" \" \" < /v/order)\" = "
      "\"init side \"'], volumeMounts: [{name: v, "
      "mountPath: /v}]}]}}";
  const std::string head =
      "{apiVersion: v1, kind: Pod, metadata: {name: order}, spec: {hostNetwork: true, "
      "restartPolicy: Never, volumes: [{name: v, emptyDir: {}}], initContainers: [";
  const std::string init =
      "{name: init, image: busybox, imagePullPolicy: Never, command: [sh, -c, 'echo init > "
      "/v/order'], volumeMounts: [{name: v, mountPath: /v}]}, ";
  const std::string side = absl::StrCat(
      "{name: side, image: busybox, imagePullPolicy: Never, restartPolicy: Always, command: [sh, "
      "-c, 'echo side >> /v/order; ",
      kUntilTerm, "'], volumeMounts: [{name: v, mountPath: /v}]}], ");
  agents_.Apply(absl::StrCat(head, init, side,
                             "containers: [{name: main, image: busybox, imagePullPolicy: Never, "
                             "command: [sh, -c, '",
                             main));
  ASSERT_TRUE(agents_->AwaitPhase("order", "Succeeded"));
  const Json pod = agents_->Pod("order");
  const Json& inits = pod["status"]["initContainerStatuses"];
  EXPECT_EQ(inits[0]["state"]["terminated"]["exitCode"], 0);
  EXPECT_TRUE(inits[1]["state"].contains("terminated"));
  const int64_t side_started = Status(CriId(inits[1])).started_at();
  EXPECT_LE(Status(CriId(inits[0])).finished_at(), side_started);
  EXPECT_LE(side_started, Status(MainId(pod)).created_at());
  agents_.Delete("order");
}

TEST_F(AgentContainerdTest, PodsOutliveAKillOfEither) {
  Begin();
  Apply("web", kUntilTerm);
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json before = agents_->Pod("web");
  agents_.Kill();
  Begin();
  agents_.ExpectUntouched("web", before);

  containerd_.Kill();
  EXPECT_TRUE(Eventually([this] { return agents_.NodeReady()["reason"] == "KubeletNotReady"; }));
  // Taken while the runtime is away.
  Apply("late", kUntilTerm);
  const absl::Status started = containerd_.Start();
  ASSERT_TRUE(started.ok()) << started;
  ASSERT_TRUE(agents_->Await("late", IsReady));
  EXPECT_TRUE(Eventually([this] { return agents_.NodeReady()["status"] == "True"; }));
  agents_.ExpectUntouched("web", before);

  containerd_.Kill();
  agents_.Kill();
  ASSERT_TRUE(containerd_.Start().ok());
  Begin();
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(Sandboxes(), 2u);
  agents_.Delete("web");
  agents_.Delete("late");
  EXPECT_EQ(Sandboxes(), 0u);
}

TEST_F(AgentContainerdTest, PodsHaveGroupsWithTheirLimits) {
  Begin();
  ApplyWith("web", "", "requests: {cpu: 100m}, limits: {memory: 64Mi, cpu: 500m}");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const std::string group = GroupOf("web", "burstable");
  const auto pod = Cgroups().Read(group);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->memory_limit_bytes, 64 << 20);
  EXPECT_EQ(pod->cpu_quota_us, 50000);
  const linux::CgroupSettings container = SettingsOf("web", "burstable");
  EXPECT_EQ(container.memory_limit_bytes, 64 << 20);
  EXPECT_EQ(container.cpu_quota_us, 50000);
  agents_.Delete("web");
  EXPECT_FALSE(CgroupExists(group));
}

TEST_F(AgentContainerdTest, TheStatusHasTheAmountsAsWritten) {
  Begin();
  ApplyWith("web", "", "requests: {cpu: 10m, memory: 20M}, limits: {memory: 200M}");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  EXPECT_EQ(
      ContainerStatus(agents_->Pod("web"))["resources"],
      (Json{{"limits", {{"memory", "200M"}}}, {"requests", {{"cpu", "10m"}, {"memory", "20M"}}}}));
  agents_.Delete("web");
}

TEST_F(AgentContainerdTest, ClassesAreRejectedPassedOrIgnored) {
  Begin();
  ApplyWith("rejected", kClass);
  ASSERT_TRUE(agents_->AwaitPhase("rejected", "Failed"));
  const Json status = agents_->Pod("rejected")["status"];
  EXPECT_EQ(status["reason"], "UnknownClassType");
  EXPECT_THAT(status["message"].get<std::string>(), HasSubstr("its types: none"));
  EXPECT_EQ(Sandboxes(), 0u);

  Begin("unadvertisedClasses: pass\n");
  ApplyWith("passed", kClass);
  ASSERT_TRUE(agents_->Await("passed", IsReady));
  const Json before = agents_->Pod("passed");

  Begin(Gate("ClassResources", false));
  agents_.ExpectUntouched("passed", before);
  ApplyWith("ignored", kClass);
  ASSERT_TRUE(agents_->Await("ignored", IsReady));

  // Taken once, a pod is not judged again.
  Begin(Gate("ClassResources", true));
  agents_.ExpectUntouched("passed", before);
  agents_.Restart(containerd_.runtime(), "ignored");
}

TEST_F(AgentContainerdTest, AFieldOfClassesIsRejectedPassedOrForbidden) {
  const std::string field = "classes: {tier: low}";
  Begin();
  ApplyWith("rejected", "", field);
  ASSERT_TRUE(agents_->AwaitPhase("rejected", "Failed"));
  EXPECT_EQ(agents_->Pod("rejected")["status"]["reason"], "UnknownClassType");

  Begin("unadvertisedClasses: pass\n");
  ApplyWith("passed", "", field);
  ASSERT_TRUE(agents_->Await("passed", IsReady));
  const Json before = agents_->Pod("passed");

  Begin(Gate("ClassResources", false));
  agents_.ExpectUntouched("passed", before);
  const auto applied = agents_->client().Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {hostNetwork: true, containers: "
      "[{name: main, image: busybox, resources: {classes: {tier: low}}}]}}");
  EXPECT_EQ(applied.status().code(), absl::StatusCode::kInvalidArgument) << applied.status();
  agents_.Restart(containerd_.runtime(), "passed");
}

// containerd knows no message of classes, and reads its own annotations whatever the agent's gate.
// This one has RDT switched off, and refuses them.
TEST_F(AgentContainerdTest, AnnotationsThatContainerdKnowsReachIt) {
  const auto is_refused = [](const Json& pod) {
    const Json waiting = ContainerStatus(pod)["state"].value("waiting", Json::object());
    return waiting.value("reason", "") == "CreateContainerError" &&
           absl::StrContains(waiting.value("message", ""), "RDT");
  };
  const std::string rdt = "rdt.resources.beta.kubernetes.io/pod: gold";
  Begin("unadvertisedClasses: pass\n");
  ApplyWith("passed", rdt);
  EXPECT_TRUE(agents_->Await("passed", is_refused));
  Begin(Gate("ClassResources", false));
  ApplyWith("ignored", rdt);
  EXPECT_TRUE(agents_->Await("ignored", is_refused));
}

TEST_F(AgentContainerdTest, WhatIsAnnouncedIsPassedOver) {
  const std::string resources = "requests: {cpu: 0.10}, limits: {memory: 64Mi}";
  Begin(Gate("KubeletContainerResourcesInPodSandbox", true));
  ApplyWith("old", "", resources);
  ASSERT_TRUE(agents_->Await("old", IsReady));
  const Json before = agents_->Pod("old");
  const linux::CgroupSettings with = SettingsOf("old", "burstable");
  EXPECT_EQ(with.memory_limit_bytes, 64 << 20);

  Begin(Gate("KubeletContainerResourcesInPodSandbox", false));
  agents_.ExpectUntouched("old", before);
  ApplyWith("new", "", resources);
  ASSERT_TRUE(agents_->Await("new", IsReady));
  EXPECT_EQ(SettingsOf("new", "burstable"), with);
  agents_.Restart(containerd_.runtime(), "old");
  EXPECT_EQ(SettingsOf("old", "burstable"), with);
}

TEST_F(AgentContainerdTest, APodLivesThroughTheGateOfResizesWhichRefusesThemWhenOff) {
  Begin(Gate("InPlacePodVerticalScaling", true));
  ApplyWith("web", "", "limits: {memory: 64Mi}");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json before = agents_->Pod("web");
  Begin(Gate("InPlacePodVerticalScaling", false));
  const auto resized = agents_->client().Resize("default", "web", MemoryPatch());
  EXPECT_EQ(resized.status().code(), absl::StatusCode::kUnimplemented) << resized.status();
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(SettingsOf("web", "burstable").memory_limit_bytes, 64 << 20);
  Begin(Gate("InPlacePodVerticalScaling", true));
  agents_.ExpectUntouched("web", before);
}

// This containerd has no UpdatePodSandboxResources. It reports limits and no requests of memory,
// which no control file holds: the status has what the node has given, as kubelet's.
TEST_F(AgentContainerdTest, AResizeIsMadeWithoutTellingOfThePod) {
  Begin(Gate("InPlacePodVerticalScaling", true));
  ApplyWith("web", "", "limits: {memory: 64Mi}");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json before = agents_->Pod("web");
  EXPECT_EQ(ContainerStatus(before)["resources"],
            (Json{{"limits", {{"memory", "64Mi"}}}, {"requests", {{"memory", "64Mi"}}}}));
  const auto resized = agents_->client().Resize("default", "web", MemoryPatch());
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_TRUE(Eventually([this] { return agents_.HasEvent("web", "ResizeCompleted"); }));
  // The event comes before the status.
  ASSERT_TRUE(agents_->Await("web", [](const Json& pod) {
    return ContainerStatus(pod).value("/resources/limits/memory"_json_pointer, "") == "128Mi";
  }));
  EXPECT_EQ(SettingsOf("web", "burstable").memory_limit_bytes, 128 << 20);
  const auto pod = Cgroups().Read(GroupOf("web", "burstable"));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->memory_limit_bytes, 128 << 20);
  const Json after = agents_->Pod("web");
  EXPECT_EQ(ContainerStatus(after)["resources"],
            (Json{{"limits", {{"memory", "128Mi"}}}, {"requests", {{"memory", "128Mi"}}}}));
  EXPECT_EQ(ContainerStatus(after)["allocatedResources"]["memory"], "128Mi");
  agents_.ExpectUntouched("web", before);
  const auto events = agents_->client().Events("", "");
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(std::count_if(events->begin(), events->end(),
                          [](const Json& each) { return each["reason"] == "NoPodUpdates"; }),
            1);
  agents_.Restart(containerd_.runtime(), "web");
  EXPECT_EQ(SettingsOf("web", "burstable").memory_limit_bytes, 128 << 20);
}

}  // namespace
}  // namespace plimsoll::testing
