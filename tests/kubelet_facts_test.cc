// Pods whose client passes nothing down, by the word of a kubelet's sockets (KEP-4112 for an
// unmodified kubelet).
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/fake_kubelet.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;
using AmountsByName =
    google::protobuf::Map<std::string, ::k8s::io::apimachinery::pkg::api::resource::Quantity>;

class KubeletFactsTest : public NodeTest {
 protected:
  explicit KubeletFactsTest(const std::string& config = "", const std::string& pods = "auto")
      : KubeletFactsTest(std::make_unique<KubeletRoot>(), config, pods) {}

  FakeKubelet& kubelet() { return place_->kubelet; }
  int Calls() {
    return kubelet().calls(FakeKubelet::kPods) + kubelet().calls(FakeKubelet::kPodResources);
  }
  // A stock kubelet of 1.36: the Pods service is behind a gate that is off.
  void StopPodsService() { kubelet().Stop(FakeKubelet::kPods); }

  // A pod with the uid of an API object.
  cri::PodSandboxConfig KubeletsPod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_uid(
        absl::StrCat("6c7ca2b0-17a3-4c5e-9d7e-", absl::Dec(++uids_, absl::kZeroPad12)));
    return config;
  }
  // Gives kubelet the pod: an init container "setup" of 2 CPUs and a container "web" of `cpu`.
  void Know(const cri::PodSandboxConfig& config, const std::string& cpu) {
    ::k8s::io::api::core::v1::Pod pod;
    pod.mutable_metadata()->set_uid(config.metadata().uid());
    pod.mutable_metadata()->set_name(config.metadata().name());
    pod.mutable_metadata()->set_namespace_(config.metadata().namespace_());
    auto& setup = *pod.mutable_spec()->add_initcontainers();
    setup.set_name("setup");
    (*setup.mutable_resources()->mutable_limits())["cpu"].set_string("2");
    auto& web = *pod.mutable_spec()->add_containers();
    web.set_name("web");
    AmountsByName& limits = *web.mutable_resources()->mutable_limits();
    limits["cpu"].set_string(cpu);
    limits["memory"].set_string("64Mi");
    limits["example.com/gpu"].set_string("2");
    kubelet().SetPod(pod);
    Grant(config);
  }
  // Two devices and two CPUs of its own for the container "web".
  void Grant(const cri::PodSandboxConfig& config) {
    ::v1::PodResources grants;
    grants.set_name(config.metadata().name());
    grants.set_namespace_(config.metadata().namespace_());
    auto& web = *grants.add_containers();
    web.set_name("web");
    for (const int64_t cpu : {3, 2}) web.add_cpu_ids(cpu);
    auto& devices = *web.add_devices();
    devices.set_resource_name("example.com/gpu");
    devices.add_device_ids("gpu-0");
    devices.add_device_ids("gpu-1");
    kubelet().SetGrants(grants);
  }
  // Runs like RunPod, for a pod that kubelet knows. A question has a tenth of a second, in which a
  // busy machine may not come to the answer: then the pod is made again.
  std::string RunTold(const cri::PodSandboxConfig& config, const std::string& handler = "") {
    std::string pod;
    Json picture;
    EXPECT_TRUE(Eventually([&] {
      pod = RunBy(handler, config);
      picture = Picture(pod);
      const bool is_told =
          picture.contains("grants") && !absl::StrContains(picture.dump(), "no answer in time");
      if (is_told || HasFailure()) return true;
      EXPECT_TRUE(StopPod(pod).ok());
      EXPECT_TRUE(RemovePod(pod).ok());
      return false;
    })) << picture.dump();
    return pod;
  }
  std::string RunBy(const std::string& handler, const cri::PodSandboxConfig& config) {
    cri::RunPodSandboxRequest request;
    *request.mutable_config() = config;
    request.set_runtime_handler(handler);
    cri::RunPodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.pod_sandbox_id();
  }
  cri::ContainerConfig Named(const std::string& name, int64_t quota) {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_metadata()->set_name(name);
    SetQuota(quota, config.mutable_linux()->mutable_resources());
    return config;
  }
  static void SetQuota(int64_t quota, cri::LinuxContainerResources* resources) {
    resources->set_cpu_quota(quota);
    resources->set_cpu_period(100000);
  }

  // The pod's picture now, by `plimsoll inspect`.
  Json Picture(const std::string& pod) {
    cri::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(pod);
    request.set_verbose(true);
    cri::PodSandboxStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().PodSandboxStatus(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return Json::parse(response.info().at("podResources"), nullptr, /*allow_exceptions=*/false);
  }
  std::string PictureFile(const std::string& pod) {
    return Host()
        .Read(absl::StrCat(node_.run_directory().substr(1), "/sandboxes/", pod,
                           "/picture/pod-resources.json"))
        .value_or("");
  }
  std::string OciConfig(const std::string& container) {
    return Host()
        .Read(absl::StrCat(node_.run_directory().substr(1), "/oci/containers/", container,
                           "/config.json"))
        .value_or("");
  }
  // Each call about the pod asks kubelet; an answer that is late is dropped.
  bool BecomesComplete(const std::string& pod) {
    return Eventually([&] {
      if (Picture(pod)["picture"] == "complete") return true;
      EXPECT_TRUE(UpdatePod(pod, {}).ok());
      return false;
    });
  }
  std::vector<std::string> Contradictions(const std::string& pod) {
    std::vector<std::string> found;
    grpc::ClientContext context;
    const auto events = node_.node().ListEvents(&context, plimsoll::v1::ListEventsRequest());
    plimsoll::v1::Event event;
    while (events->Read(&event)) {
      if (event.sandbox_id() == pod && absl::StrContains(event.message(), "contradict")) {
        found.push_back(event.message());
      }
    }
    EXPECT_TRUE(events->Finish().ok());
    return found;
  }
  // Lines of the daemon's log about kubelet's answers.
  std::vector<std::string> KubeletLines() {
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(node_.Log(), '\n')) {
      if (absl::StrContains(line, "kubelet reports")) lines.emplace_back(line);
    }
    return lines;
  }
  // Without a quota it changes nothing.
  grpc::Status UpdatePod(const std::string& pod, std::optional<int64_t> quota) {
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod);
    if (quota.has_value()) SetQuota(*quota, request.mutable_resources());
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }

 private:
  KubeletFactsTest(std::unique_ptr<KubeletRoot> place, const std::string& config,
                   const std::string& pods)
      : NodeTest(absl::StrCat(config, "kubelet: {root: ", place->directory.path(), ", pods: ", pods,
                              "}\n")),
        place_(std::move(place)) {}

  const std::unique_ptr<KubeletRoot> place_;
  int uids_ = 0;
};

TEST_F(KubeletFactsTest, ThePictureIsKubeletsAndCompleteWithTheLastContainer) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1500m");
  const std::string pod = RunTold(config);
  Json picture = Picture(pod);
  EXPECT_EQ(picture["picture"], "partial");
  EXPECT_EQ(picture["sources"]["total"], "kubelet");
  EXPECT_EQ(picture["total"]["limits"]["cpu"], "2");
  EXPECT_EQ(picture["total"]["limits"]["memory"], "64Mi");
  EXPECT_EQ(picture["containers"][0]["type"], "init_container");
  EXPECT_EQ(picture["containers"][1]["kubernetes_resources"]["limits"]["cpu"], "1500m");
  EXPECT_EQ(picture["grants"][0]["exclusive_cpus"], "2-3");
  EXPECT_THAT(picture["missing"].dump(), HasSubstr("mounts of setup, web"));
  EXPECT_THAT(picture["why"].dump(), HasSubstr("mounts: "));
  Command check;
  check.argv = {
      SourcePath("tools/check_json"), SourcePath("api/schema/pod-resources.schema.json"),
      absl::StrCat(node_.run_directory(), "/sandboxes/", pod, "/picture/pod-resources.json")};
  const auto checked = RunProgram(check);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->exit.code, 0) << checked->out << checked->err;
  const std::string setup = Create(pod, Named("setup", 200000));
  const std::string web = Create(pod, Named("web", 150000));
  picture = Picture(pod);
  EXPECT_EQ(picture["picture"], "complete");
  EXPECT_FALSE(picture.contains("missing"));
  EXPECT_EQ(picture["sources"]["containers"][1]["kubernetes_resources"], "kubelet");
  EXPECT_EQ(picture["sources"]["containers"][1]["mounts"], "message");
  EXPECT_THAT(OciConfig(web), HasSubstr(R"(\"picture\":\"complete\")"));
  EXPECT_THAT(OciConfig(web), HasSubstr("plimsoll.dev/pod-resources-file"));
  EXPECT_EQ(Json::parse(PictureFile(pod), nullptr, false), picture);
  EXPECT_THAT(Contradictions(pod), IsEmpty());
}

// The CRI's own fields are the client's: it gets back what it sent.
TEST_F(KubeletFactsTest, TheWordShowsInTheNodesReportsAndNotInTheClientsFields) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1500m");
  const std::string pod = RunTold(config);
  const std::string web = Start(pod, Named("web", 150000));
  EXPECT_FALSE(PodStatus(pod).has_pod_resources());
  EXPECT_FALSE(Status(web).has_kubernetes_resources());
  plimsoll::v1::ListUsageResponse usage;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.node().ListUsage(&context, {}, &usage).ok());
  ASSERT_EQ(usage.containers_size(), 1);
  EXPECT_EQ(usage.containers(0).asked().limits().at("cpu").string(), "1500m");
  const auto inspected = RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(),
                                              "inspect", "-o", "json", pod}},
                                    {.timeout = Patience(absl::Seconds(30))});
  ASSERT_TRUE(inspected.ok());
  const Json shown = Json::parse(inspected->out, nullptr, /*allow_exceptions=*/false);
  const Json& picture = shown["info"]["podResources"];
  EXPECT_EQ(picture["sources"]["containers"][1]["kubernetesResources"], "kubelet")
      << inspected->out << inspected->err;
  EXPECT_EQ(picture["grants"][0]["devices"][0]["resource"], "example.com/gpu");
  const auto described =
      RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "inspect", pod}},
                 {.timeout = Patience(absl::Seconds(30))});
  ASSERT_TRUE(described.ok());
  EXPECT_THAT(described->out,
              AllOf(HasSubstr("partial, by kubelet"), HasSubstr("mounts of setup")));
}

TEST_F(KubeletFactsTest, AStockKubeletTellsDevicesAndExclusiveCpus) {
  StopPodsService();
  cri::PodSandboxConfig config = KubeletsPod();
  SetQuota(250000, config.mutable_linux()->mutable_resources());
  Grant(config);
  const std::string pod = RunTold(config);
  const Json picture = Picture(pod);
  EXPECT_EQ(picture["picture"], "partial");
  EXPECT_EQ(picture["sources"]["total"], "linux");
  EXPECT_EQ(picture["total"]["limits"]["cpu"], "2500m");
  EXPECT_EQ(picture["total"]["limits"]["example.com/gpu"], "2");
  EXPECT_EQ(picture["grants"][0].dump(),
            R"({"devices":[{"ids":["gpu-0","gpu-1"],"resource":"example.com/gpu"}],)"
            R"("exclusive_cpus":"2-3","name":"web"})");
  EXPECT_THAT(picture["missing"].dump(),
              AllOf(HasSubstr("requests and limits"), HasSubstr("types of the containers")));
  EXPECT_THAT(picture["why"].dump(), HasSubstr("pods-api.sock"));
  Start(pod, Named("web", 250000));
  EXPECT_EQ(Picture(pod)["picture"], "partial") << "nobody told the init containers";
}

TEST_F(KubeletFactsTest, WithoutSocketsThePodStartsAndThePictureIsAbsent) {
  StopPodsService();
  kubelet().Stop(FakeKubelet::kPodResources);
  for (int i = 0; i < 5; ++i) {
    const std::string pod = RunPod(KubeletsPod());
    EXPECT_EQ(Picture(pod)["picture"], "absent");
    EXPECT_EQ(PictureFile(pod), "");
  }
  EXPECT_THAT(KubeletLines(), ElementsAre(HasSubstr("kubelet reports nothing of its pods")));
}

TEST_F(KubeletFactsTest, OtherClientsPodsAreNotAskedFor) {
  cri::PodSandboxConfig announcing = KubeletsPod();
  announcing.mutable_pod_resources();
  for (const cri::PodSandboxConfig& config : {PodConfig(), announcing}) {
    Start(RunPod(config), Shell("sleep 1000"));
  }
  EXPECT_EQ(Calls(), 0);
}

// Each is a kubelet that never gets an answer through.
TEST_F(KubeletFactsTest, NoRudeKubeletKeepsAPodFromStarting) {
  using Rude = FakeKubelet::Rude;
  for (const Rude rude : {Rude::kCut, Rude::kGarbage, Rude::kFlood, Rude::kMute, Rude::kDeaf}) {
    kubelet().Replace(FakeKubelet::kPods, rude);
    kubelet().Replace(FakeKubelet::kPodResources, rude);
    const std::string pod = RunPod(KubeletsPod());
    EXPECT_EQ(Picture(pod)["picture"], "absent") << static_cast<int>(rude);
    Start(pod, Shell("sleep 1000"));
    StopPodsService();
    kubelet().Stop(FakeKubelet::kPodResources);
  }
  kubelet().Start(FakeKubelet::kPods);
  EXPECT_TRUE(Eventually([&] {
    const cri::PodSandboxConfig config = KubeletsPod();
    Know(config, "1");
    return Picture(RunPod(config))["sources"]["total"] == "kubelet";
  })) << "a busy machine may take its time from a question";
}

TEST_F(KubeletFactsTest, ALyingKubeletIsNotBelieved) {
  const cri::PodSandboxConfig other = KubeletsPod();
  Know(other, "7");
  // Another pod's bytes, then no pod's, then amounts that are none.
  cri::PodSandboxConfig config = KubeletsPod();
  ::k8s::io::api::core::v1::Pod pod;
  pod.mutable_metadata()->set_uid(other.metadata().uid());
  pod.mutable_spec()->add_containers()->set_name("web");
  kubelet().SetPodBytes(config.metadata().uid(), pod.SerializeAsString());
  EXPECT_EQ(Picture(RunPod(config))["picture"], "absent");
  config = KubeletsPod();
  kubelet().SetPodBytes(config.metadata().uid(), std::string(1000, '\xff'));
  EXPECT_EQ(Picture(RunPod(config))["picture"], "absent");
  config = KubeletsPod();
  Know(config, "a lot");
  const std::string id = RunTold(config);
  EXPECT_THAT(Picture(id)["containers"].dump(), Not(HasSubstr("a lot")));
  EXPECT_THAT(Picture(id)["why"].dump(), HasSubstr("a lot"));
  Start(id, Named("web", 100000));
}

TEST_F(KubeletFactsTest, TheWordOutlivesKubeletAndDaemon) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1500m");
  const std::string pod = RunTold(config);
  const std::string web = Start(pod, Named("web", 150000));
  const Json before = Picture(pod);
  StopPodsService();
  kubelet().Stop(FakeKubelet::kPodResources);
  const int calls = Calls();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Picture(pod), before);
  EXPECT_EQ(Json::parse(PictureFile(pod), nullptr, false), before);
  // A new kubelet, whose pod has changed meanwhile, isn't asked before the next call about the pod.
  kubelet().Start(FakeKubelet::kPods);
  kubelet().Start(FakeKubelet::kPodResources);
  Know(config, "1.0");
  EXPECT_EQ(Picture(pod), before);
  EXPECT_EQ(Calls(), calls);
  cri::LinuxContainerResources resources;
  SetQuota(100000, &resources);
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(TryUpdate(web, resources).ok());
    return Picture(pod)["containers"][1]["kubernetes_resources"]["limits"]["cpu"] == "1.0";
  })) << Picture(pod).dump();
  EXPECT_THAT(Contradictions(pod), IsEmpty());
}

// A resize that the node can't give yet: kubelet reports it as wished.
TEST_F(KubeletFactsTest, DuringAResizeLinuxHoldsAndTheDifferenceIsTold) {
  cri::PodSandboxConfig config = KubeletsPod();
  SetQuota(200000, config.mutable_linux()->mutable_resources());
  Know(config, "1500m");
  const std::string pod = RunTold(config);
  Start(pod, Named("web", 150000));
  Know(config, "2500m");
  Start(pod, Shell("sleep 1000"));  // any call about the pod asks again
  const auto web_limit = [&] {
    return Picture(pod)["containers"][1]["kubernetes_resources"]["limits"]["cpu"];
  };
  EXPECT_TRUE(Eventually([&] {
    if (Contradictions(pod).size() >= 2) return true;
    EXPECT_TRUE(UpdatePod(pod, {}).ok());
    return false;
  }));
  EXPECT_THAT(
      Contradictions(pod),
      Contains(HasSubstr("container web: the resources that kubelet reports contradict linux, "
                         "and linux holds: the limit of cpu is 2500m, linux has a quota of "
                         "150000")));
  EXPECT_EQ(web_limit(), "1500m");
  EXPECT_EQ(Picture(pod)["sources"]["containers"][1]["by_linux"][0], "limits[cpu]");
  EXPECT_EQ(Picture(pod)["total"]["limits"]["cpu"], "2");
  // The same answer again is no news.
  const int calls = Calls();
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(UpdatePod(pod, 200000).ok());
    return Calls() >= calls + 2;
  }));
  EXPECT_THAT(Contradictions(pod), SizeIs(2));
  // The allocation follows: nothing contradicts any more.
  ASSERT_TRUE(UpdatePod(pod, 250000).ok());
  const std::string web = [&] {
    cri::ListContainersRequest request;
    cri::ListContainersResponse listed;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, request, &listed).ok());
    for (const cri::Container& each : listed.containers()) {
      if (each.metadata().name() == "web") return each.id();
    }
    return std::string();
  }();
  cri::LinuxContainerResources resources;
  SetQuota(250000, &resources);
  ASSERT_TRUE(TryUpdate(web, resources).ok());
  EXPECT_TRUE(Eventually([&] { return web_limit() == "2500m"; }));
  EXPECT_THAT(Contradictions(pod), SizeIs(2));
}

class CountedKubeletFactsTest : public KubeletFactsTest {
 protected:
  CountedKubeletFactsTest() : KubeletFactsTest(MetricsConfig()) {}
  static double Questions(const std::string& result) {
    return MetricValue(absl::StrCat("plimsoll_kubelet_questions_total{result=\"", result, "\"}"));
  }
};

// A kubelet that would answer in an hour: the pod starts, so the question was given up.
TEST_F(CountedKubeletFactsTest, ASlowKubeletIsGivenUp) {
  for (const auto service : {FakeKubelet::kPods, FakeKubelet::kPodResources}) {
    kubelet().Behave(service, {.delay = absl::Hours(1)});
  }
  std::string pod;
  int pods = 0;
  // On a busy machine a question may be given up before it comes to kubelet.
  EXPECT_TRUE(Eventually([&] {
    const int calls = Calls();
    const cri::PodSandboxConfig config = KubeletsPod();
    Know(config, "1500m");
    pod = RunPod(config);
    ++pods;
    return Calls() == calls + 2;
  }));
  EXPECT_EQ(Questions("late"), pods);
  EXPECT_EQ(Picture(pod)["picture"], "absent");
  // It recovers: the next call about the pod brings its word.
  for (const auto service : {FakeKubelet::kPods, FakeKubelet::kPodResources}) {
    kubelet().Behave(service, {});
  }
  Create(pod, Named("setup", 200000));
  Create(pod, Named("web", 150000));
  EXPECT_TRUE(BecomesComplete(pod));
  EXPECT_GE(Questions("answered"), 1);
  EXPECT_THAT(PictureFile(pod), HasSubstr(R"("sources":{"total":"kubelet")"));
}

TEST_F(CountedKubeletFactsTest, AnAnswerForAPodThatIsGoneIsDropped) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1");
  const std::string pod = RunPod(config);
  kubelet().Behave(FakeKubelet::kPods, {.delay = absl::Milliseconds(50)});
  Start(pod, Named("web", 100000));
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());
  EXPECT_TRUE(Eventually([&] { return Questions("answered") + Questions("late") >= 2; }));
  kubelet().Behave(FakeKubelet::kPods, {});
  // Answers are taken over in turn: a later one has been, so that one has.
  const cri::PodSandboxConfig next = KubeletsPod();
  Know(next, "1");
  const std::string later = RunPod(next);
  Create(later, Named("setup", 200000));
  Create(later, Named("web", 100000));
  EXPECT_TRUE(BecomesComplete(later));
  EXPECT_FALSE(Host().Exists(absl::StrCat(node_.run_directory().substr(1), "/sandboxes/", pod)));
}

TEST_F(CountedKubeletFactsTest, FiftyPodsAtOnceAllStart) {
  constexpr int kPods = 50;
  kubelet().Behave(FakeKubelet::kPods, {.calls_a_second = 100, .burst = 10});
  std::vector<cri::PodSandboxConfig> configs;
  for (int i = 0; i < kPods; ++i) {
    configs.push_back(KubeletsPod());
    Know(configs.back(), "100m");
  }
  std::vector<grpc::Status> statuses(kPods);
  std::vector<std::string> ids(kPods);
  std::vector<std::thread> threads;
  for (int i = 0; i < kPods; ++i) {
    threads.emplace_back([&, i] { statuses[i] = TryRunPod(configs[i], &ids[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const grpc::Status& status : statuses) EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Questions("answered") + Questions("late") + Questions("refused") + Questions("untold"),
            kPods);
  EXPECT_GT(Questions("answered"), 0);
  // Two of changes, and one of another reason.
  EXPECT_LE(KubeletLines().size(), 3u);
}

class KubeletIsOffTest : public KubeletFactsTest {
 protected:
  KubeletIsOffTest() : KubeletFactsTest("", "off") {}
};

TEST_F(KubeletIsOffTest, NothingIsAsked) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1");
  const std::string pod = RunPod(config);
  Start(pod, Named("web", 100000));
  EXPECT_EQ(Calls(), 0);
  EXPECT_EQ(Picture(pod)["sources"]["total"], "linux");
}

class KubeletGateIsOffTest : public KubeletFactsTest {
 protected:
  KubeletGateIsOffTest()
      : KubeletFactsTest("feature_gates: {KubeletContainerResourcesInPodSandbox: false}\n") {}
};

TEST_F(KubeletGateIsOffTest, NothingIsAsked) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1");
  const std::string pod = RunPod(config);
  const std::string web = Start(pod, Named("web", 100000));
  EXPECT_EQ(Calls(), 0);
  EXPECT_THAT(OciConfig(web), Not(HasSubstr("plimsoll.dev/pod-resources")));
}

class KubeletVmTest : public KubeletFactsTest {
 protected:
  KubeletVmTest()
      : KubeletFactsTest(absl::StrCat("runtime_handlers: {vm: {kind: vm, program: ",
                                      FindProgram("crun").value_or("/usr/bin/crun"), "}}\n")) {}
};

TEST_F(KubeletVmTest, AVirtualMachineIsSizedByKubeletsWord) {
  const cri::PodSandboxConfig config = KubeletsPod();
  Know(config, "1500m");
  const std::string pod = RunTold(config, "vm");
  // The first container knows the size of all.
  const std::string setup = Create(pod, Named("setup", 200000));
  const std::string spec = OciConfig(setup);
  EXPECT_THAT(spec, HasSubstr(R"("io.kubernetes.cri.sandbox-cpu-quota":"200000")"));
  EXPECT_THAT(spec,
              HasSubstr(absl::StrCat(R"("io.kubernetes.cri.sandbox-memory":")", 64 * kMiB, "\"")));
  EXPECT_THAT(spec, HasSubstr(R"("io.katacontainers.config.hypervisor.default_vcpus":"2")"));
  EXPECT_THAT(spec, HasSubstr(R"(\"example.com/gpu\")"));
}

}  // namespace
}  // namespace plimsoll::testing
