// Events of pods and containers as plugins of the Node Resource Interface see them: their order,
// their content, and the moment at which each comes.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Words of several plugins in the order in which they were said.
class SharedList {
 public:
  void Add(const std::string& word) {
    absl::MutexLock lock(&mutex_);
    words_.push_back(word);
  }
  std::vector<std::string> Words() const {
    absl::MutexLock lock(&mutex_);
    return words_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> words_ ABSL_GUARDED_BY(mutex_);
};

class NriEventsTest : public NriTest {
 protected:
  using NriTest::NriTest;

  cri::ContainerConfig Named(const std::string& name, const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_metadata()->set_name(name);
    return config;
  }
  bool IsListed(const std::string& container) {
    cri::ListContainersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, {}, &response).ok());
    for (const cri::Container& each : response.containers()) {
      if (each.id() == container) return true;
    }
    return false;
  }
  bool PodIsListed(const std::string& pod) {
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
    for (const cri::PodSandbox& each : response.items()) {
      if (each.id() == pod) return true;
    }
    return false;
  }
  grpc::StatusCode StatusCodeOf(const std::string& container) {
    cri::ContainerStatusRequest request;
    request.set_container_id(container);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    return node_.runtime().ContainerStatus(&context, request, &response).error_code();
  }
  grpc::Status UpdatePod(const cri::UpdatePodSandboxResourcesRequest& request) {
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }
};

TEST_F(NriEventsTest, EachPluginSeesAWholeLifeInOrder) {
  TestPlugin first("10", "first");
  TestPlugin second("20", "second");
  Join(first);
  Join(second);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Named("web", "sleep 1000"));
  EXPECT_TRUE(UpdateShares(container, 512).ok());
  cri::UpdatePodSandboxResourcesRequest update;
  update.set_pod_sandbox_id(pod);
  update.mutable_resources()->set_cpu_shares(600);
  EXPECT_TRUE(UpdatePod(update).ok());
  EXPECT_TRUE(StopContainer(container, 0).ok());
  EXPECT_TRUE(RemoveContainer(container).ok());
  EXPECT_TRUE(StopPod(pod).ok());
  EXPECT_TRUE(RemovePod(pod).ok());
  for (TestPlugin* plugin : {&first, &second}) {
    ASSERT_TRUE(plugin->Await("RemovePodSandbox"));
    EXPECT_THAT(plugin->CallsAbout(pod),
                ElementsAre("RunPodSandbox", "CreateContainer web", "PostCreateContainer web",
                            "StartContainer web", "PostStartContainer web", "UpdateContainer web",
                            "PostUpdateContainer web", "UpdatePodSandbox", "PostUpdatePodSandbox",
                            "StopContainer web", "RemoveContainer web", "StopPodSandbox",
                            "RemovePodSandbox"));
  }
}

TEST_F(NriEventsTest, PluginsAreAskedByIndexAndSeeEarlierChanges) {
  SharedList order;
  TestPlugin last("30", "last");  // joins first
  TestPlugin first("10", "first");
  TestPlugin middle("20", "middle");
  for (TestPlugin* plugin : {&last, &first, &middle}) {
    plugin->On(&TestPlugin::create, [&order, plugin](const napi::CreateContainerRequest& request) {
      std::string seen = plugin->full_name();
      for (const std::string& variable : request.container().env()) {
        if (absl::StartsWith(variable, "BY_")) absl::StrAppend(&seen, " ", variable);
      }
      order.Add(seen);
      napi::CreateContainerResponse response;
      napi::KeyValue* variable = response.mutable_adjust()->add_env();
      variable->set_key(absl::StrCat("BY_", plugin->full_name().substr(0, 2)));
      variable->set_value("1");
      return response;
    });
    Join(*plugin);
  }
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_THAT(order.Words(),
              ElementsAre("10-first", "20-middle BY_10=1", "30-last BY_10=1 BY_20=1"));
  EXPECT_EQ(ExecOutput(container, "echo $BY_10$BY_20$BY_30"), "111\n");
}

TEST_F(NriEventsTest, MetadataIsWhole) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  EXPECT_EQ(plugin.configuration().runtime_name(), "plimsoll");
  EXPECT_GT(plugin.configuration().request_timeout(), 0);
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["app"] = "web";
  (*config.mutable_annotations())["example.com/note"] = "hello";
  const std::string pod = RunPod(config);
  cri::ContainerConfig web = Named("web", "sleep 1000");
  (*web.mutable_labels())["tier"] = "front";
  (*web.mutable_annotations())["example.com/own"] = "mine";
  web.mutable_linux()->mutable_resources()->set_cpu_shares(512);
  web.mutable_linux()->mutable_resources()->set_oom_score_adj(900);
  cri::KeyValue* variable = web.add_envs();
  variable->set_key("LEVEL");
  variable->set_value("debug");
  cri::Mount* mount = web.add_mounts();
  mount->set_container_path("/data");
  mount->set_host_path(nri_files_.path());
  mount->set_readonly(true);
  const std::string container = Start(pod, web);
  ASSERT_TRUE(plugin.Await("PostStartContainer"));

  const SeenCall created = plugin.Last("CreateContainer");
  EXPECT_EQ(created.pod.id(), pod);
  EXPECT_EQ(created.pod.name(), config.metadata().name());
  EXPECT_EQ(created.pod.namespace_(), "default");
  EXPECT_EQ(created.pod.uid(), config.metadata().uid());
  EXPECT_EQ(created.pod.labels().at("app"), "web");
  EXPECT_EQ(created.pod.annotations().at("example.com/note"), "hello");
  EXPECT_EQ(created.container.id(), container);
  EXPECT_EQ(created.container.pod_sandbox_id(), pod);
  EXPECT_EQ(created.container.labels().at("tier"), "front");
  EXPECT_EQ(created.container.annotations().at("example.com/own"), "mine");
  EXPECT_THAT(created.container.args(), ElementsAre("/bin/sh", "-c", "sleep 1000"));
  EXPECT_THAT(created.container.env(), Contains("LEVEL=debug"));
  // Mounts that each container has come first.
  EXPECT_EQ(created.container.mounts(0).destination(), "/proc");
  const napi::Mount& own = *created.container.mounts().rbegin();
  EXPECT_EQ(own.destination(), "/data");
  EXPECT_EQ(own.source(), nri_files_.path());
  EXPECT_THAT(own.options(), Contains("ro"));
  EXPECT_EQ(created.container.linux().resources().cpu().shares().value(), 512u);
  EXPECT_EQ(created.container.linux().oom_score_adj().value(), 900);
  EXPECT_EQ(created.container.pid(), 0u);
  const SeenCall started = plugin.Last("PostStartContainer");
  EXPECT_EQ(started.container.state(), napi::CONTAINER_RUNNING);
  EXPECT_TRUE(Host().Exists(absl::StrCat("proc/", started.container.pid())));
  EXPECT_GT(started.container.started_at(), started.container.created_at());
  EXPECT_EQ(absl::StripPrefix(started.container.linux().cgroups_path(), "/"),
            absl::StripPrefix(CgroupOf(pod, container), "/"));
}

TEST_F(NriEventsTest, NamespacesAreNamedByTheirPins) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  RunPod();
  std::vector<std::string> types;
  const napi::PodSandbox ran = plugin.Last("RunPodSandbox").pod;
  for (const napi::LinuxNamespace& each : ran.linux().namespaces()) {
    types.push_back(each.type());
    EXPECT_THAT(MountsBelow(each.path()), Not(IsEmpty())) << each.path();
  }
  EXPECT_THAT(types, ::testing::UnorderedElementsAre("network", "ipc", "uts"));
}

TEST_F(NriEventsTest, NothingIsVisibleWhileItsHookIsUnderWay) {
  TestPlugin plugin("10", "looker");
  SharedList found;
  plugin.On(&TestPlugin::run_pod, [&](const napi::RunPodSandboxRequest& request) {
    if (PodIsListed(request.pod().id())) found.Add("pod listed");
    return napi::RunPodSandboxResponse();
  });
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest& request) {
    if (IsListed(request.container().id())) found.Add("container listed");
    if (StatusCodeOf(request.container().id()) != grpc::NOT_FOUND) found.Add("container found");
    return napi::CreateContainerResponse();
  });
  plugin.On(&TestPlugin::start, [&](const napi::StartContainerRequest& request) {
    if (!IsListed(request.container().id())) found.Add("started container isn't listed");
    if (Status(request.container().id()).state() != cri::CONTAINER_CREATED) found.Add("it runs");
    return napi::StartContainerResponse();
  });
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_THAT(plugin.CallsAbout(pod), Contains(HasSubstr("StartContainer")));
  EXPECT_THAT(found.Words(), IsEmpty());
  EXPECT_TRUE(PodIsListed(pod));
  EXPECT_TRUE(IsListed(container));
}

TEST_F(NriEventsTest, AtAPodsStopItsWorkloadsHaveStoppedAndItsNetworkIsThere) {
  TestPlugin plugin("10", "looker");
  SharedList found;
  plugin.On(&TestPlugin::stop_pod, [&](const napi::StopPodSandboxRequest& request) {
    cri::ListContainersRequest all;
    cri::ListContainersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, all, &response).ok());
    for (const cri::Container& each : response.containers()) {
      if (each.state() != cri::CONTAINER_EXITED) found.Add("a container runs");
    }
    EXPECT_EQ(PodStatus(request.pod().id()).id(), request.pod().id());
    for (const napi::LinuxNamespace& each : request.pod().linux().namespaces()) {
      if (each.type() == "network" && !MountsBelow(each.path()).empty()) found.Add("network");
    }
    return napi::StopPodSandboxResponse();
  });
  Join(plugin);
  const std::string pod = RunPod();
  Start(pod, Named("web", "trap '' TERM; while :; do sleep 1; done"));
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_THAT(found.Words(), ElementsAre("network"));
  EXPECT_THAT(plugin.CallsAbout(pod),
              AllOf(Contains("StopContainer web"), Contains("StopPodSandbox")));
  // The pod's second stop is nothing new, and nothing can be made in it.
  ASSERT_TRUE(StopPod(pod).ok());
  std::string id;
  EXPECT_EQ(TryCreate(pod, Shell("true"), &id).error_code(), grpc::FAILED_PRECONDITION);
  ASSERT_TRUE(RemovePod(pod).ok());
  ASSERT_TRUE(plugin.Await("RemovePodSandbox"));
  EXPECT_EQ(plugin.Count("StopPodSandbox"), 1);
  EXPECT_EQ(plugin.Count("CreateContainer"), 1);
}

TEST_F(NriEventsTest, AContainerThatEndsByItselfIsTold) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Named("job", "exit 3"));
  ASSERT_TRUE(plugin.Await("StopContainer"));
  const SeenCall stopped = plugin.Last("StopContainer");
  EXPECT_EQ(stopped.pod.id(), pod);
  EXPECT_EQ(stopped.container.id(), container);
  EXPECT_EQ(stopped.container.state(), napi::CONTAINER_STOPPED);
  EXPECT_EQ(stopped.container.exit_code(), 3);
  EXPECT_GT(stopped.container.finished_at(), 0);
  // Stopping it once more is no event.
  ASSERT_TRUE(StopContainer(container, 0).ok());
  ASSERT_TRUE(RemoveContainer(container).ok());
  ASSERT_TRUE(plugin.Await("RemoveContainer"));
  EXPECT_EQ(plugin.Count("StopContainer"), 1);
}

TEST_F(NriEventsTest, ASubscriptionIsObeyed) {
  TestPlugin plugin("10", "choosy");
  plugin.SubscribeTo({napi::START_CONTAINER, napi::REMOVE_POD_SANDBOX});
  Join(plugin);
  const std::string pod = RunPod();
  Start(pod, Named("web", "sleep 1000"));
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());
  ASSERT_TRUE(plugin.Await("RemovePodSandbox"));
  EXPECT_THAT(plugin.CallsAbout(pod), ElementsAre("StartContainer web", "RemovePodSandbox"));
}

// KEP-4112: the needs of the whole pod before its first container, and the new ones beside the
// present ones at an update.
TEST_F(NriEventsTest, RealRequestsAreToldAndKeptCurrent) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  cri::PodSandboxConfig config = PodConfig();
  cri::ContainerResourceConfig* announced = config.mutable_pod_resources()->add_containers();
  announced->set_name("web");
  announced->set_type(cri::ContainerResourceConfig::CONTAINER);
  const auto set_cpu = [](const std::string& cpu, cri::KubernetesResources* out) {
    (*out->mutable_requests())["cpu"].set_string(cpu);
  };
  const auto cpu_of = [](const cri::KubernetesResources& resources) {
    return resources.requests().at("cpu").string();
  };
  set_cpu("0.50", announced->mutable_kubernetes_resources());
  const std::string pod = RunPod(config);
  const napi::PodSandbox ran = plugin.Last("RunPodSandbox").pod;
  EXPECT_EQ(cpu_of(ran.pod_resources().containers(0).kubernetes_resources()), "0.50");
  EXPECT_THAT(ran.annotations().at("plimsoll.dev/pod-resources"),
              AllOf(HasSubstr(R"("total":{"requests":{"cpu":"500m"})"), HasSubstr(R"("0.50")")));

  const std::string container = Start(pod, Named("web", "sleep 1000"));
  EXPECT_EQ(cpu_of(plugin.Last("CreateContainer").container.kubernetes_resources()), "0.50");

  cri::UpdateContainerResourcesRequest update;
  update.set_container_id(container);
  set_cpu("1.50", update.mutable_kubernetes_resources());
  cri::UpdateContainerResourcesResponse updated;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, update, &updated).ok());
  const auto asked = plugin.LastRequest<napi::UpdateContainerRequest>("UpdateContainer");
  EXPECT_EQ(cpu_of(asked.kubernetes_resources()), "1.50");
  EXPECT_EQ(cpu_of(asked.container().kubernetes_resources()), "0.50");
  ASSERT_TRUE(plugin.Await("PostUpdateContainer"));
  const SeenCall after = plugin.Last("PostUpdateContainer");
  EXPECT_EQ(cpu_of(after.container.kubernetes_resources()), "1.50");
  EXPECT_THAT(after.pod.annotations().at("plimsoll.dev/pod-resources"),
              HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));

  cri::UpdatePodSandboxResourcesRequest pod_update;
  pod_update.set_pod_sandbox_id(pod);
  *pod_update.mutable_pod_resources() = config.pod_resources();
  set_cpu(
      "2",
      pod_update.mutable_pod_resources()->mutable_containers(0)->mutable_kubernetes_resources());
  ASSERT_TRUE(UpdatePod(pod_update).ok());
  const auto pod_asked = plugin.LastRequest<napi::UpdatePodSandboxRequest>("UpdatePodSandbox");
  EXPECT_EQ(cpu_of(pod_asked.pod_resources().containers(0).kubernetes_resources()), "2");
  EXPECT_EQ(cpu_of(pod_asked.pod().pod_resources().containers(0).kubernetes_resources()), "1.50");
  ASSERT_TRUE(plugin.Await("PostUpdatePodSandbox"));
  EXPECT_EQ(cpu_of(plugin.Last("PostUpdatePodSandbox")
                       .pod.pod_resources()
                       .containers(0)
                       .kubernetes_resources()),
            "2");
}

TEST_F(NriEventsTest, APodOfWhichNothingWasToldSaysSo) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  RunPod();
  EXPECT_THAT(plugin.Last("RunPodSandbox").pod.annotations().at("plimsoll.dev/pod-resources"),
              HasSubstr(R"("picture":"absent")"));
}

}  // namespace
}  // namespace plimsoll::testing
