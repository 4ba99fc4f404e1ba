// kubelet's PodResources socket as plimsoll-agent serves it, over a real plimsolld with a device
// plugin and static CPUs and memory: it shows what the page of allocations shows, also to
// plimsolld.
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "harness/sample_plugin.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "kubelet/podresources/v1alpha1/api.grpc.pb.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kTpuResource[] = "plimsoll-test.com/tpu";
constexpr char kOwn[] = "{limits: {cpu: 1, memory: 64Mi, plimsoll-test.com/tpu: 1}}";

// A topology with one CPU that is reserved, one that can be exclusive, and 4 GiB. The directory is
// kubelet's root for plimsolld.
struct OneExclusiveCpu {
  OneExclusiveCpu() {
    const std::vector<int> usable = UsableCpus();
    if (usable.size() < 2) return;
    reserved = absl::StrCat(usable[0]);
    exclusive = absl::StrCat(usable[1]);
    std::string text =
        "zones:\n- {name: board, type: NUMANode, attributes: {id: 0}, resources: [{name: memory, "
        "capacity: 4Gi}]}\n";
    for (const std::string& cpu : {reserved, exclusive}) {
      absl::StrAppend(&text, "- {name: core-", cpu,
                      ", type: Core, parent: board, attributes: {cpu-ids: \"", cpu,
                      "\"}, resources: [{name: cpu, capacity: 1}]}\n");
    }
    EXPECT_TRUE(directory.root().ReplaceFile("t.yaml", text).ok());
  }
  TestDir directory;
  std::string reserved, exclusive;
};

// "cpus 1 memory memory=67108864@0 devices plimsoll-test.com/tpu=b", by "pod/container".
using Told = std::map<std::string, std::string>;

Told ToldBy(const Json& page) {
  Told told;
  for (const Json& pod : page["pods"]) {
    for (const Json& each : pod["containers"]) {
      std::string text;
      if (each["exclusive"]) absl::StrAppend(&text, "cpus ", each.value("cpus", ""));
      for (const Json& block : each.value("memory", Json::array())) {
        absl::StrAppend(&text, " memory ", block.value("resource", ""), "=",
                        block.value("bytes", 0), "@", block.value("numaNodes", ""));
      }
      const Json devices = each.value("devices", Json::object());
      for (const auto& [resource, ids] : devices.items()) {
        for (const Json& id : ids) {
          absl::StrAppend(&text, " devices ", resource, "=", id.get<std::string>());
        }
      }
      told[absl::StrCat(pod.value("name", ""), "/", each.value("name", ""))] = text;
    }
  }
  return told;
}

void Add(const ::v1::PodResources& pod, Told& told) {
  EXPECT_EQ(pod.namespace_(), "default");
  for (const auto& each : pod.containers()) {
    std::string text;
    if (each.cpu_ids_size() > 0) {
      absl::StrAppend(&text, "cpus ", absl::StrJoin(each.cpu_ids(), ","));
    }
    for (const auto& block : each.memory()) {
      absl::StrAppend(&text, " memory ", block.memory_type(), "=", block.size(), "@",
                      absl::StrJoin(block.topology().nodes(), ",",
                                    [](std::string* out, const ::v1::NUMANode& node) {
                                      absl::StrAppend(out, node.id());
                                    }));
    }
    for (const auto& devices : each.devices()) {
      EXPECT_EQ(devices.topology().nodes_size(), 1);
      absl::StrAppend(&text, " devices ", devices.resource_name(), "=",
                      absl::StrJoin(devices.device_ids(), ","));
    }
    told[absl::StrCat(pod.name(), "/", each.name())] = text;
  }
}

class AgentPodResourcesTest : protected OneExclusiveCpu, public NodeAgentTest {
 protected:
  AgentPodResourcesTest()
      : NodeAgentTest(
            absl::StrCat("cgroupsPerQOS: false\ncpuManagerPolicy: static\n"
                         "reservedSystemCPUs: \"",
                         reserved,
                         "\"\nmemoryManagerPolicy: Static\nsystemReserved: {memory: 1Gi}\n"
                         "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n"),
            absl::StrCat("nodeResources: {source: {file: ", directory.path(),
                         "/t.yaml}}\nkubelet: {root: ", directory.path(), "}\n"),
            directory.path()) {}
  void SetUp() override {
    if (exclusive.empty()) GTEST_SKIP() << "needs two CPUs";
    NodeTest::SetUp();
  }
  // Two devices; waits until the node has them.
  std::unique_ptr<SamplePlugin> Plugin() {
    auto plugin = std::make_unique<SamplePlugin>(agent_, directory.path(), kTpuResource,
                                                 "device a numa=0\ndevice b numa=0\n");
    EXPECT_TRUE(plugin->AwaitNode(2, 2));
    return plugin;
  }
  // A pod with an init container and the container "main" of these resources, and more init
  // containers.
  void Run(const std::string& name, const std::string& resources, const std::string& more = "") {
    const auto container = [&](const std::string& of_name, const std::string& command) {
      return absl::StrCat("{name: ", of_name, ", image: busybox, imagePullPolicy: Never, ",
                          "command: ", command, ", resources: ", resources, "}");
    };
    Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                       "}, spec: {initContainers: [", container("first", "['true']"), more,
                       "], containers: [",
                       container("main", absl::StrCat("[sh, -c, '", kUntilTerm, "']")), "]}}"));
    ASSERT_TRUE(agent_.Await(name, [](const Json& pod) {
      return pod.value("/status/containerStatuses/0/ready"_json_pointer, false);
    })) << agent_.Log();
  }
  // With a sidecar.
  void RunShared() {
    Run("shared", "{}",
        absl::StrCat(", {name: beside, restartPolicy: Always, image: busybox, imagePullPolicy: ",
                     "Never, command: [sh, -c, '", kUntilTerm, "']}"));
  }

  std::shared_ptr<grpc::Channel> Channel() {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("unix:", agent_.pod_resources(), "/kubelet.sock"),
                                     grpc::InsecureChannelCredentials(), own);
  }
  std::unique_ptr<::v1::PodResourcesLister::Stub> Stub() {
    return ::v1::PodResourcesLister::NewStub(Channel());
  }
  Told Listed() {
    grpc::ClientContext context;
    ::v1::ListPodResourcesResponse response;
    const grpc::Status status = Stub()->List(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Told told;
    for (const auto& pod : response.pod_resources()) Add(pod, told);
    return told;
  }
  std::pair<grpc::Status, Told> Get(const std::string& name) {
    grpc::ClientContext context;
    ::v1::GetPodResourcesRequest request;
    request.set_pod_namespace("default");
    request.set_pod_name(name);
    ::v1::GetPodResourcesResponse response;
    const grpc::Status status = Stub()->Get(&context, request, &response);
    Told told;
    if (status.ok()) Add(response.pod_resources(), told);
    return {status, told};
  }
  // The resources by `plimsoll allocations`, without ordinary init containers.
  Told Allocations() {
    Told told = ToldBy(Json::parse(agent_.Page("/allocations"), nullptr, false));
    std::erase_if(told, [](const auto& each) { return each.first.ends_with("/first"); });
    return told;
  }
};

TEST_F(AgentPodResourcesTest, TellsWhatTheAllocationsTell) {
  Begin();
  const auto plugin = Plugin();
  Run("own", kOwn);
  RunShared();
  const Told told = Listed();
  EXPECT_EQ(told, Allocations());
  ASSERT_EQ(told.size(), 3u) << "ordinary init containers aren't told of";
  EXPECT_THAT(told.at("own/main"),
              HasSubstr(absl::StrCat("cpus ", exclusive, " memory memory=67108864@0 devices ",
                                     kTpuResource, "=")));
  EXPECT_EQ(told.at("shared/main"), "");
  Told one_by_one = Get("own").second;
  one_by_one.merge(Get("shared").second);
  EXPECT_EQ(one_by_one, told);
  const grpc::Status unknown = Get("nobody").first;
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(unknown.error_message(), "pod nobody in namespace default not found");

  // Containers run on what was told before the agent was killed.
  agent_.Kill();
  Begin();
  ASSERT_TRUE(plugin->AwaitLine("registered"));
  ASSERT_TRUE(plugin->AwaitNode(2, 2));
  EXPECT_EQ(Listed(), told);

  ASSERT_TRUE(agent_.client().Delete("default", "own", 1).ok());
  ASSERT_TRUE(agent_.AwaitGone("own"));
  EXPECT_EQ(Listed().size(), 2u);
  EXPECT_EQ(Get("own").first.error_code(), grpc::StatusCode::NOT_FOUND);
}

// v1alpha1, which a kubelet serves beside v1.
TEST_F(AgentPodResourcesTest, OldToolsHearOfTheSameDevices) {
  Begin();
  const auto plugin = Plugin();
  Run("own", kOwn);
  grpc::ClientContext context;
  ::v1alpha1::ListPodResourcesResponse list;
  const grpc::Status status =
      ::v1alpha1::PodResourcesLister::NewStub(Channel())->List(&context, {}, &list);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(list.pod_resources_size(), 1);
  EXPECT_EQ(list.pod_resources(0).namespace_(), "default");
  EXPECT_EQ(list.pod_resources(0).name(), "own");
  ASSERT_EQ(list.pod_resources(0).containers_size(), 1);
  const ::v1alpha1::ContainerResources& main = list.pod_resources(0).containers(0);
  EXPECT_EQ(main.name(), "main");
  ASSERT_EQ(main.devices_size(), 1);
  const std::string device = absl::StrJoin(main.devices(0).device_ids(), ",");
  EXPECT_THAT(Listed().at("own/main"),
              HasSubstr(absl::StrCat(" devices ", main.devices(0).resource_name(), "=", device)));
}

TEST_F(AgentPodResourcesTest, TellsWhatTheNodeHas) {
  Begin();
  const auto plugin = Plugin();
  plugin->Write("device a numa=0\ndevice b numa=0 unhealthy\n");
  ASSERT_TRUE(plugin->AwaitNode(1, 2));
  grpc::ClientContext context;
  ::v1::AllocatableResourcesResponse all;
  const grpc::Status status = Stub()->GetAllocatableResources(&context, {}, &all);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(absl::StrJoin(all.cpu_ids(), ","), exclusive);
  ASSERT_EQ(all.memory_size(), 1);
  EXPECT_EQ(all.memory(0).size(), uint64_t{3} << 30);
  ASSERT_EQ(all.devices_size(), 1);
  EXPECT_EQ(all.devices(0).device_ids(0), "a");
}

TEST_F(AgentPodResourcesTest, AFileInTheSocketsPlaceEndsTheStart) {
  Begin();
  agent_.Kill();
  const std::string socket = agent_.pod_resources() + "/kubelet.sock";
  ASSERT_TRUE(Host().RemoveFile(socket).ok()) << "a killed agent leaves it";
  ASSERT_TRUE(Host().ReplaceFile(socket, "mine").ok());
  EXPECT_FALSE(agent_.Start().ok());
  EXPECT_THAT(agent_.Log(), HasSubstr("kubelet.sock is there and is not a socket"));
  EXPECT_EQ(Host().Read(socket).value_or(""), "mine");
}

// plimsolld asks kubelet's sockets for pods of clients that pass nothing down.
TEST_F(AgentPodResourcesTest, PlimsolldHearsOfPodsThatAreNotPassedDown) {
  agent_.AddToConfig("featureGates: {KubeletContainerResourcesInPodSandbox: false}\n");
  Begin();
  const auto plugin = Plugin();
  Run("own", kOwn);
  cri::ListPodSandboxResponse pods;
  grpc::ClientContext listing;
  ASSERT_TRUE(node_.runtime().ListPodSandbox(&listing, {}, &pods).ok());
  ASSERT_EQ(pods.items_size(), 1);
  const std::string main = CriId(agent_.Pod("own")["status"]["containerStatuses"][0]);
  Json picture;
  // A question has a tenth of a second; each update asks again.
  EXPECT_TRUE(Eventually([&] {
    cri::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(pods.items(0).id());
    request.set_verbose(true);
    cri::PodSandboxStatusResponse response;
    grpc::ClientContext context;
    if (!node_.runtime().PodSandboxStatus(&context, request, &response).ok()) return false;
    picture = Json::parse(response.info().at("podResources"), nullptr, false);
    if (picture.contains("grants")) return true;
    EXPECT_TRUE(TryUpdate(main, {}).ok());
    return false;
  })) << picture.dump(1);
  std::string grant;
  for (const Json& each : picture.value("grants", Json::array())) {
    if (each.value("name", "") == "main") grant = each.dump();
  }
  EXPECT_THAT(grant, HasSubstr(absl::StrCat("\"exclusive_cpus\":\"", exclusive, "\"")));
  EXPECT_THAT(grant, HasSubstr(kTpuResource));
  EXPECT_THAT(grant, HasSubstr("67108864"));
}

}  // namespace
}  // namespace plimsoll::testing
