// The fate of pods when a gate of plimsoll-agent is switched while they run, and where the
// runtime has it off: docs/skew.md. The runtime is plimsolld; agent_containerd_test.cc has
// containerd.
#include "absl/strings/str_cat.h"
#include "agent_runs_fixture.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kSoonAnnotation[] = "oom.class.plimsoll.dev/default: soon";

std::string Gates(const std::string& gates) {
  return absl::StrCat("cgroupsPerQOS: false\n",
                      gates.empty() ? "" : absl::StrCat("featureGates: {", gates, "}\n"));
}

Json CpuPatch() {
  const Json container = {{"name", "main"}, {"resources", {{"requests", {{"cpu", "200m"}}}}}};
  return {{"spec", {{"containers", Json::array({container})}}}};
}

class AgentSkewTest : public NodeTest {
 protected:
  // `daemon_config`: plimsolld's.
  explicit AgentSkewTest(const std::string& daemon_config = kOomClasses)
      : NodeTest(daemon_config), agents_(node_.directory(), node_.address()) {}
  void TearDown() override {
    agents_.Kill();
    NodeTest::TearDown();
  }
  void ApplyWith(const std::string& name, const std::string& annotations,
                 const std::string& resources = "requests: {cpu: 0.10, memory: 1e6}") {
    agents_.Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                               ", annotations: {", annotations,
                               "}}, spec: {containers: [{name: main, image: busybox, "
                               "imagePullPolicy: Never, command: [sh, "
                               "-c, '",
                               kUntilTerm, "'], resources: {", resources, "}}]}}"));
  }
  // The class of type oom of the pod's container; empty: none.
  std::string ClassOf(const std::string& pod) {
    const cri::ContainerStatus status = Status(MainId(agents_->Pod(pod)));
    const auto& classes = status.class_resources().classes();
    const auto it = classes.find("oom");
    return it == classes.end() ? "" : it->second;
  }
  // Containers that the runtime was told of with the pod's sandbox.
  int Announced(const std::string& pod) {
    cri::ListPodSandboxRequest request;
    const std::string uid = agents_->Pod(pod)["metadata"]["uid"];
    (*request.mutable_filter()->mutable_label_selector())["io.kubernetes.pod.uid"] = uid;
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, request, &response).ok());
    EXPECT_EQ(response.items_size(), 1);
    if (response.items_size() != 1) return -1;
    return PodStatus(response.items(0).id()).pod_resources().containers_size();
  }

  AgentRuns agents_;
};

// KEP-3008, "Can the feature be disabled once it has been enabled".
TEST_F(AgentSkewTest, ARunningPodKeepsItsClassAndARestartLosesItUntilTheGateIsBack) {
  agents_.Begin(Gates(""));
  ApplyWith("web", kSoonAnnotation);
  ASSERT_TRUE(agents_->Await("web", IsReady));
  EXPECT_EQ(ClassOf("web"), "soon");
  Json before = agents_->Pod("web");

  agents_.Begin(Gates("ClassResources: false"));
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(ClassOf("web"), "soon");
  agents_.Restart(node_.runtime(), "web");
  EXPECT_EQ(ClassOf("web"), "");
  before = agents_->Pod("web");

  agents_.Begin(Gates(""));
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(ClassOf("web"), "") << "a container that runs is left alone";
  agents_.Restart(node_.runtime(), "web");
  EXPECT_EQ(ClassOf("web"), "soon");
}

// KEP-4112, "Version Skew Strategy" and "What happens if we reenable the feature".
TEST_F(AgentSkewTest, APodKeepsWhatWasAnnouncedAndNewOnesGoByTheGate) {
  agents_.Begin(Gates(""));
  ApplyWith("old", "");
  ASSERT_TRUE(agents_->Await("old", IsReady));
  EXPECT_EQ(Announced("old"), 1);
  const Json before = agents_->Pod("old");

  agents_.Begin(Gates("KubeletContainerResourcesInPodSandbox: false"));
  agents_.ExpectUntouched("old", before);
  ApplyWith("new", "");
  ASSERT_TRUE(agents_->Await("new", IsReady));
  EXPECT_EQ(Announced("new"), 0);
  agents_.Restart(node_.runtime(), "old");
  EXPECT_EQ(Announced("old"), 1) << "of the sandbox, which stays";
  EXPECT_FALSE(Status(MainId(agents_->Pod("new"))).has_kubernetes_resources());

  agents_.Begin(Gates(""));
  ASSERT_TRUE(agents_->Await("new", IsReady));
  EXPECT_EQ(Announced("new"), 0) << "until the pod is made anew";
  agents_.Restart(node_.runtime(), "new");
  EXPECT_TRUE(Status(MainId(agents_->Pod("new"))).has_kubernetes_resources());
  ApplyWith("newest", "");
  ASSERT_TRUE(agents_->Await("newest", IsReady));
  EXPECT_EQ(Announced("newest"), 1);
}

TEST_F(AgentSkewTest, APodLivesThroughTheGateOfResizesWhichRefusesThemWhenOff) {
  agents_.Begin(Gates("InPlacePodVerticalScaling: true"));
  ApplyWith("web", "");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json before = agents_->Pod("web");
  const int64_t shares = Status(MainId(before)).resources().linux().cpu_shares();
  agents_.Begin(Gates("InPlacePodVerticalScaling: false"));
  const auto resized = agents_->client().Resize("default", "web", CpuPatch());
  EXPECT_EQ(resized.status().code(), absl::StatusCode::kUnimplemented) << resized.status();
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(agents_->Pod("web")["spec"], before["spec"]);
  EXPECT_EQ(Status(MainId(before)).resources().linux().cpu_shares(), shares);
  agents_.Begin(Gates("InPlacePodVerticalScaling: true"));
  agents_.ExpectUntouched("web", before);
}

TEST_F(AgentSkewTest, AResizedPodKeepsItsResizeThroughTheGate) {
  using nlohmann::literals::operator""_json_pointer;
  agents_.Begin(Gates("InPlacePodVerticalScaling: true"));
  ApplyWith("web", "");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  const Json before = agents_->Pod("web");
  const auto resized = agents_->client().Resize("default", "web", CpuPatch());
  ASSERT_TRUE(resized.ok()) << resized.status();
  const auto has_it = [](const Json& pod) {
    return pod.value("/status/containerStatuses/0/resources/requests/cpu"_json_pointer, "") ==
           "200m";
  };
  ASSERT_TRUE(agents_->Await("web", has_it));
  agents_.ExpectUntouched("web", before);
  const int64_t shares = Status(MainId(before)).resources().linux().cpu_shares();

  agents_.Begin(Gates("InPlacePodVerticalScaling: false"));
  agents_.ExpectUntouched("web", before);
  EXPECT_EQ(agents_->Pod("web")["spec"]["containers"][0]["resources"]["requests"]["cpu"], "200m");
  EXPECT_FALSE(ContainerStatus(agents_->Pod("web")).contains("resources"));
  agents_.Restart(node_.runtime(), "web");
  EXPECT_EQ(Status(MainId(agents_->Pod("web"))).resources().linux().cpu_shares(), shares);

  agents_.Begin(Gates("InPlacePodVerticalScaling: true"));
  ASSERT_TRUE(agents_->Await("web", has_it));
}

// Constructed before the node whose configuration names it.
struct BigTopology {
  BigTopology() {
    EXPECT_TRUE(directory.root()
                    .ReplaceFile("t.yaml",
                                 "zones:\n- {name: numa-0, type: NUMANode, resources: [{name: "
                                 "memory, capacity: 64Gi}, {name: cpu, capacity: 512}]}\n")
                    .ok());
  }
  TestDir directory;
};

// plimsolld reports more CPUs than the machine has.
class AgentSkewDiscoveryTest : protected BigTopology, public AgentSkewTest {
 protected:
  AgentSkewDiscoveryTest()
      : AgentSkewTest(
            absl::StrCat("nodeResources: {source: {file: ", directory.path(), "/t.yaml}}\n")) {}
};

TEST_F(AgentSkewDiscoveryTest, AShrunkNodeKeepsItsPodsAndTakesNoMore) {
  agents_.Begin(Gates(""));
  EXPECT_EQ(agents_.Capacity()["cpu"], "512");
  ApplyWith("big", "", "requests: {cpu: 200}");
  ASSERT_TRUE(agents_->Await("big", IsReady));
  const Json before = agents_->Pod("big");

  agents_.Begin(Gates("KubeletResourceDiscoveryFromCRI: false"));
  EXPECT_EQ(agents_.NodeReady()["status"], "True");
  EXPECT_NE(agents_.Capacity()["cpu"], "512") << "the machine's own";
  agents_.ExpectUntouched("big", before);
  EXPECT_TRUE(Eventually([this] { return agents_.HasEvent("big", "CapacityShrunk"); }));
  ApplyWith("small", "", "requests: {cpu: 100m}");
  ASSERT_TRUE(agents_->AwaitPhase("small", "Failed"));
  EXPECT_EQ(agents_->Pod("small")["status"]["reason"], "OutOfcpu");
  agents_.Delete("small");

  agents_.Begin(Gates(""));
  EXPECT_EQ(agents_.Capacity()["cpu"], "512");
  agents_.ExpectUntouched("big", before);
  ApplyWith("small", "", "requests: {cpu: 100m}");
  ASSERT_TRUE(agents_->Await("small", IsReady));
}

// A plimsolld as it is before the proposals: with all of their gates off.
class AgentSkewPlainDaemonTest : public AgentSkewTest {
 protected:
  AgentSkewPlainDaemonTest()
      : AgentSkewTest(absl::StrCat(kOomClasses,
                                   "feature_gates: {ClassResources: false, "
                                   "KubeletContainerResourcesInPodSandbox: false, "
                                   "KubeletResourceDiscoveryFromCRI: false}\n")) {}
};

TEST_F(AgentSkewPlainDaemonTest, ClassesAreRejectedOrPassedWithoutEffect) {
  agents_.Begin(Gates(""));
  ApplyWith("web", kSoonAnnotation);
  ASSERT_TRUE(agents_->AwaitPhase("web", "Failed"));
  EXPECT_EQ(agents_->Pod("web")["status"]["reason"], "UnknownClassType");
  agents_.Delete("web");

  agents_.Begin(Gates("") + "unadvertisedClasses: pass\n");
  ApplyWith("web", kSoonAnnotation);
  ASSERT_TRUE(agents_->Await("web", IsReady));
  EXPECT_EQ(ClassOf("web"), "");
}

TEST_F(AgentSkewPlainDaemonTest, WhatIsAnnouncedIsPassedOver) {
  agents_.Begin(Gates(""));
  ApplyWith("web", "");
  ASSERT_TRUE(agents_->Await("web", IsReady));
  EXPECT_EQ(Announced("web"), 0);
  const cri::ContainerStatus status = Status(MainId(agents_->Pod("web")));
  EXPECT_FALSE(status.has_kubernetes_resources());
  EXPECT_EQ(status.resources().linux().cpu_shares(), 102) << "linux sets the limits";
}

TEST_F(AgentSkewPlainDaemonTest, TheMachinesOwnTopologyMakesTheNode) {
  agents_.Begin(Gates(""));
  EXPECT_EQ(agents_.NodeReady()["status"], "True");
  EXPECT_THAT(agents_->Log(), HasSubstr("the machine's own topology is used"));

  agents_.Begin(Gates("") + "resourceDiscovery: cri\n");
  EXPECT_EQ(agents_.NodeReady()["status"], "False");
  EXPECT_EQ(agents_.NodeReady()["reason"], "TopologyUnsupported");
  const auto applied = agents_->client().Apply(PodManifest("web", kUntilTerm));
  EXPECT_EQ(applied.status().code(), absl::StatusCode::kUnavailable) << applied.status();
}

}  // namespace
}  // namespace plimsoll::testing
