// Messages of plimsoll-agent to a runtime about a whole pod: the examples that KEP-4112 and its
// older draft print, field by field, and the same again at each restart of a container.
#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "harness/recorded_agent.h"
#include "harness/sample_plugin.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::google::protobuf::util::MessageDifferencer;

// Empty: they are equal.
template <typename Message>
std::string Difference(const Message& one, const Message& other) {
  std::string text;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&text);
  return differencer.Compare(one, other) ? "" : text;
}

bool IsRunning(const Json& pod) {
  const Json& status = pod["status"];
  if (status.value("phase", "") != "Running" || !status.contains("containerStatuses")) return false;
  for (const Json& each : status["containerStatuses"]) {
    if (!each.value("ready", false)) return false;
  }
  return true;
}

constexpr char kConfig[] =
    "cgroupsPerQOS: false\n"
    "devices:\n"
    "  example.com/resource: [{cdi: example.com/resource=CDI-Dev-1}]\n"
    "  example.com/node: [{path: /dev/null, containerPath: /dev/given, permissions: r}]\n"
    "  intel.com/qat: [{cdi: intel.com/qat=0}, {cdi: intel.com/qat=1}]\n";

class AgentPassDownTest : public RecordedAgentTest {
 protected:
  explicit AgentPassDownTest(const std::string& config = kConfig) : RecordedAgentTest(config) {}
  std::string VolumesOf(const std::string& pod) {
    const std::string uid = agent_.Pod(pod)["metadata"]["uid"];
    return absl::StrCat(agent_.state_directory(), "/pods/", uid, "/volumes/");
  }
};

// KEP-4112 "kubelet". The numbers are written there as numbers, and arrive as the texts that the
// proposal prints. Its mount of a service account's token needs an API server.
constexpr char kProposalsPod[] = R"(
apiVersion: v1
kind: Pod
metadata:
  name: example
spec:
  containers:
  - name: cnt-1
    image: k8s.gcr.io/pause
    resources:
      requests:
        cpu: 1
        memory: 1G
        example.com/resource: 1
      limits:
        cpu: 2
        memory: 2G
        example.com/resource: 1
    volumeMounts:
    - mountPath: /my-volume
      name: my-volume
    - mountPath: /image-volume
      name: image-volume
  volumes:
  - name: my-volume
    emptyDir:
  - name: image-volume
    image:
      reference: example.com/registry/artifact:tag
)";

// The request's part for the container as the proposal prints it. `volumes`: the pod's directory.
cri::ContainerResourceConfig PrintedContainer(const std::string& volumes) {
  cri::ContainerResourceConfig printed;
  printed.set_name("cnt-1");
  printed.set_type(cri::ContainerResourceConfig::CONTAINER);
  auto& asked = *printed.mutable_kubernetes_resources()->mutable_requests();
  asked["cpu"].set_string("1");
  asked["memory"].set_string("1G");
  asked["example.com/resource"].set_string("1");
  auto& limits = *printed.mutable_kubernetes_resources()->mutable_limits();
  limits["cpu"].set_string("2");
  limits["memory"].set_string("2G");
  limits["example.com/resource"].set_string("1");
  printed.add_cdi_devices()->set_name("example.com/resource=CDI-Dev-1");
  cri::Mount* volume = printed.add_mounts();
  volume->set_container_path("/my-volume");
  volume->set_host_path(volumes + "my-volume");
  volume->set_selinux_relabel(true);
  cri::Mount* image = printed.add_mounts();
  image->set_container_path("/image-volume");
  image->set_readonly(true);
  image->mutable_image()->set_image(
      absl::StrCat(RecordingRuntime::kImageIdPrefix, "example.com/registry/artifact:tag"));
  image->mutable_image()->set_user_specified_image("example.com/registry/artifact:tag");
  return printed;
}

// The volumes come first; behind them may be the file for the termination message.
void ExpectPrinted(const cri::PodResourceConfig& sent, const std::string& volumes) {
  EXPECT_FALSE(sent.has_kubernetes_resources());
  ASSERT_EQ(sent.containers_size(), 1);
  cri::ContainerResourceConfig container = sent.containers(0);
  ASSERT_GE(container.mounts_size(), 2);
  if (container.mounts_size() == 3) {
    EXPECT_EQ(container.mounts(2).container_path(), "/dev/termination-log");
    container.mutable_mounts()->RemoveLast();
  }
  EXPECT_EQ(Difference(PrintedContainer(volumes), container), "");
}

TEST_F(AgentPassDownTest, TheProposalsExampleIsSentAsPrinted) {
  Apply(kProposalsPod);
  ASSERT_TRUE(agent_.Await("example", IsRunning));
  const auto requests = runtime_.Sandboxes();
  ASSERT_EQ(requests.size(), 1u);
  ExpectPrinted(requests[0].config().pod_resources(), VolumesOf("example"));
}

// The same device as a device plugin's.
class PluginPassDownTest : public AgentPassDownTest {
 protected:
  PluginPassDownTest() : AgentPassDownTest("cgroupsPerQOS: false\n") {}
};

TEST_F(PluginPassDownTest, TheProposalsExampleIsSentAsPrintedWithADevicePlugin) {
  SamplePlugin plugin(agent_, directory_.path(), "example.com/resource",
                      "device CDI-Dev-1 cdi=example.com/resource=CDI-Dev-1\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 1));
  Apply(kProposalsPod);
  ASSERT_TRUE(agent_.Await("example", IsRunning));
  const auto requests = runtime_.Sandboxes();
  ASSERT_EQ(requests.size(), 1u);
  ExpectPrinted(requests[0].config().pod_resources(), VolumesOf("example"));
  const auto containers = runtime_.Containers();
  ASSERT_EQ(containers.size(), 1u);
  ASSERT_EQ(containers[0].config().envs_size(), 1);
  EXPECT_EQ(containers[0].config().envs(0).key(), "EXAMPLE_COM_RESOURCE");
  EXPECT_EQ(containers[0].config().envs(0).value(), "CDI-Dev-1");
}

// The older draft, "ResourceConfig".
TEST_F(AgentPassDownTest, TheOlderDraftsExampleIsSentAsPrinted) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata:
  name: draft
spec:
  containers:
    - name: db
      image: db
      resources:
        requests:
          cpu: 1900m
          memory: 10G
        limits:
          cpu: 1900m
          memory: 10G
    - name: db-sync-with-hw-accel
      image: sync
      resources:
        requests:
          cpu: 100m
          memory: 100M
          intel.com/qat: 2
        limits:
          cpu: 100m
          memory: 100M
          intel.com/qat: 2
)");
  ASSERT_TRUE(agent_.Await("draft", IsRunning));
  const cri::PodResourceConfig sent = runtime_.Sandboxes().at(0).config().pod_resources();
  ASSERT_EQ(sent.containers_size(), 2);
  EXPECT_EQ(sent.containers(0).name(), "db");
  EXPECT_EQ(sent.containers(1).name(), "db-sync-with-hw-accel");
  cri::KubernetesResources db, sync;
  for (auto* list : {db.mutable_requests(), db.mutable_limits()}) {
    (*list)["cpu"].set_string("1900m");
    (*list)["memory"].set_string("10G");
  }
  for (auto* list : {sync.mutable_requests(), sync.mutable_limits()}) {
    (*list)["cpu"].set_string("100m");
    (*list)["memory"].set_string("100M");
    (*list)["intel.com/qat"].set_string("2");
  }
  EXPECT_EQ(Difference(db, sent.containers(0).kubernetes_resources()), "");
  EXPECT_EQ(Difference(sync, sent.containers(1).kubernetes_resources()), "");
  ASSERT_EQ(sent.containers(1).cdi_devices_size(), 2);
  EXPECT_EQ(sent.containers(1).cdi_devices(1).name(), "intel.com/qat=1");
}

cri::ContainerResourceConfig AsAnnounced(const cri::ContainerConfig& made,
                                         cri::ContainerResourceConfig::ContainerType type) {
  cri::ContainerResourceConfig config;
  config.set_name(made.metadata().name());
  config.set_type(type);
  *config.mutable_kubernetes_resources() = made.kubernetes_resources();
  *config.mutable_mounts() = made.mounts();
  *config.mutable_devices() = made.devices();
  *config.mutable_cdi_devices() = made.cdi_devices();
  return config;
}

constexpr char kDevicePod[] =
    "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, emptyDir: {}}], "
    "initContainers: [{name: init, image: i, resources: {limits: {example.com/resource: 1}}}, "
    "{name: side, image: i, restartPolicy: Always, volumeMounts: [{name: v, mountPath: /s}]}], "
    "containers: [{name: main, image: i, volumeMounts: [{name: v, mountPath: /v}], resources: "
    "{requests: {cpu: 0.10, memory: 1e6}, limits: {example.com/resource: 1, example.com/node: "
    "1}}}]}}";

TEST_F(AgentPassDownTest, EachCreationSaysWhatWasAnnounced) {
  Apply(kDevicePod);
  ASSERT_TRUE(Eventually([this] { return runtime_.Exit("init", 0); }));
  ASSERT_TRUE(agent_.Await("web", IsRunning));
  ASSERT_TRUE(runtime_.Exit("main", 1));
  const auto has_made = [this](size_t count) {
    return Eventually([&] { return runtime_.Containers().size() >= count; }, absl::Seconds(60));
  };
  ASSERT_TRUE(has_made(4)) << agent_.Log();
  // The successor prepares the pod again, from its record.
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsRunning(pod) && pod["status"]["containerStatuses"][0]["restartCount"] == 1;
  }));
  agent_.Kill();
  ASSERT_TRUE(runtime_.Exit("main", 1));
  Begin();
  ASSERT_TRUE(has_made(5)) << agent_.Log();

  const cri::PodResourceConfig announced = runtime_.Sandboxes().at(0).config().pod_resources();
  ASSERT_EQ(announced.containers_size(), 3);
  EXPECT_EQ(announced.containers(0).type(), cri::ContainerResourceConfig::INIT_CONTAINER);
  EXPECT_EQ(announced.containers(1).type(), cri::ContainerResourceConfig::SIDECAR_CONTAINER);
  EXPECT_EQ(announced.containers(2).type(), cri::ContainerResourceConfig::CONTAINER);
  EXPECT_EQ(announced.containers(0).cdi_devices_size(), 1);
  ASSERT_EQ(announced.containers(2).devices_size(), 1);
  EXPECT_EQ(announced.containers(2).devices(0).container_path(), "/dev/given");
  EXPECT_EQ(announced.containers(2).devices(0).host_path(), "/dev/null");
  EXPECT_EQ(announced.containers(2).devices(0).permissions(), "r");
  const std::vector<int> order = {0, 1, 2, 2, 2};
  const auto made = runtime_.Containers();
  ASSERT_EQ(made.size(), order.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const cri::ContainerResourceConfig& said = announced.containers(order[i]);
    EXPECT_EQ(Difference(said, AsAnnounced(made[i].config(), said.type())), "") << i;
  }
  EXPECT_EQ(made[4].config().metadata().attempt(), 2u);
}

// Follows kubelet's calculateSandboxResources: a runtime without the message sizes the pod by it.
TEST_F(AgentPassDownTest, TheSandboxIsToldTheSumOfLimits) {
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: ["
      "{name: a, image: i, resources: {requests: {cpu: 100m}, limits: {cpu: 500m, memory: 64Mi}}}, "
      "{name: b, image: i, resources: {limits: {memory: 32Mi}}}, {name: c, image: i}]}}");
  ASSERT_TRUE(agent_.Await("web", IsRunning));
  const auto told = runtime_.Sandboxes().at(0).config().linux().resources();
  EXPECT_EQ(told.cpu_shares(), 102);
  EXPECT_EQ(told.cpu_quota(), 50'000);
  EXPECT_EQ(told.cpu_period(), 100'000);
  EXPECT_EQ(told.memory_limit_in_bytes(), 96 << 20);
}

TEST_F(AgentPassDownTest, EphemeralStorageIsSentAndAdmitted) {
  const auto asking = [](const std::string& name, const std::string& amount) {
    return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                        "}, spec: {containers: [{name: main, image: i, resources: {requests: "
                        "{ephemeral-storage: ",
                        amount, "}}}]}}");
  };
  Apply(asking("web", "1Mi"));
  ASSERT_TRUE(agent_.Await("web", IsRunning));
  const auto announced = runtime_.Sandboxes().at(0).config().pod_resources().containers(0);
  for (const auto& sent : {announced.kubernetes_resources(),
                           runtime_.Containers().at(0).config().kubernetes_resources()}) {
    EXPECT_EQ(sent.requests().at("ephemeral-storage").string(), "1Mi");
  }
  Apply(asking("huge", "1Ei"));
  EXPECT_EQ(agent_.Pod("huge")["status"]["reason"], "OutOfephemeral-storage");
}

TEST_F(AgentPassDownTest, ANewSandboxIsToldTheSame) {
  Apply(kDevicePod);
  ASSERT_TRUE(Eventually([this] { return runtime_.Exit("init", 0); }));
  ASSERT_TRUE(agent_.Await("web", IsRunning));
  runtime_.EndSandboxes();
  ASSERT_TRUE(Eventually([this] { return runtime_.Sandboxes().size() == 2; })) << agent_.Log();
  const auto sandboxes = runtime_.Sandboxes();
  EXPECT_EQ(sandboxes[1].config().metadata().attempt(), 1u);
  EXPECT_EQ(
      Difference(sandboxes[0].config().pod_resources(), sandboxes[1].config().pod_resources()), "");
  EXPECT_TRUE(Eventually([this] { return !agent_.Event("web", "SandboxChanged").is_null(); }));
}

}  // namespace
}  // namespace plimsoll::testing
