// Resources passed down as the pod's author wrote them (KEP-4112), and those of a pod as a whole.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

cri::PodResourceConfig Announcing(const std::string& cpu) {
  cri::PodResourceConfig announced;
  cri::ContainerResourceConfig* web = announced.add_containers();
  web->set_name("web");
  web->set_type(cri::ContainerResourceConfig::CONTAINER);
  (*web->mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string(cpu);
  return announced;
}

class PassDownTest : public NodeTest {
 protected:
  explicit PassDownTest(const std::string& config = "") : NodeTest(config) {}
  std::string RunAnnounced() {
    cri::PodSandboxConfig config = PodConfig();
    *config.mutable_pod_resources() = Announcing("0.50");
    return RunPod(config);
  }
  cri::ContainerConfig Web() {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_metadata()->set_name("web");
    return config;
  }
  // Sends the limit as the pod's author wrote it.
  grpc::Status UpdateCpuLimit(const std::string& container, const std::string& cpu) {
    cri::UpdateContainerResourcesRequest update;
    update.set_container_id(container);
    (*update.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string(cpu);
    cri::UpdateContainerResourcesResponse updated;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, update, &updated);
  }
  grpc::Status Update(const cri::UpdatePodSandboxResourcesRequest& request) {
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }
  // An OCI hook's view.
  std::string OciConfig(const std::string& container) {
    return Host()
        .Read(absl::StrCat(node_.run_directory().substr(1), "/oci/containers/", container,
                           "/config.json"))
        .value_or("");
  }
  std::string PictureFileName(const std::string& pod) {
    return absl::StrCat(node_.run_directory(), "/sandboxes/", pod, "/picture/pod-resources.json");
  }
  std::string PictureFile(const std::string& pod) {
    return Host().Read(PictureFileName(pod).substr(1)).value_or("");
  }
};

TEST_F(PassDownTest, WhatIsAnnouncedIsKeptAndShown) {
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  EXPECT_THAT(OciConfig(id), HasSubstr("plimsoll.dev/pod-resources-file"));
  EXPECT_THAT(OciConfig(id), HasSubstr(R"(\"total\":{\"requests\":{\"cpu\":\"500m\"})"));
  EXPECT_THAT(PictureFile(pod), HasSubstr(R"("total":{"requests":{"cpu":"500m"})"));
  ASSERT_TRUE(UpdateCpuLimit(id, "1.50").ok());
  for (int restarts = 0; restarts < 2; ++restarts) {
    // Byte for byte, with the current values.
    EXPECT_EQ(PodStatus(pod).pod_resources().SerializeAsString(),
              Announcing("0.50").SerializeAsString());
    EXPECT_EQ(Status(id).kubernetes_resources().limits().at("cpu").string(), "1.50");
    EXPECT_THAT(PictureFile(pod), HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
}

TEST_F(PassDownTest, WhatIsThereAndEmptyIsShownSo) {
  cri::PodSandboxConfig config = PodConfig();
  cri::PodResourceConfig announced = Announcing("1");
  announced.add_containers()->set_name("best-effort");
  announced.mutable_containers(1)->set_type(cri::ContainerResourceConfig::CONTAINER);
  announced.mutable_containers(1)->mutable_kubernetes_resources();
  *announced.add_containers() = announced.containers(1);
  announced.mutable_containers(2)->set_name("silent");
  announced.mutable_containers(2)->clear_kubernetes_resources();
  cri::Mount* mount = announced.mutable_containers(2)->add_mounts();
  mount->set_container_path("/image");
  mount->set_readonly(true);
  mount->mutable_image()->set_image("busybox");
  mount->mutable_image()->set_user_specified_image("docker.io/library/busybox");
  mount->mutable_image()->set_image_ref("sha256:1");
  (*mount->mutable_image()->mutable_annotations())["key"] = "value";
  announced.mutable_kubernetes_resources();
  *config.mutable_pod_resources() = announced;
  const std::string pod = RunPod(config);
  cri::ContainerConfig web = Web();
  const std::string silent = Start(pod, web);
  web.mutable_metadata()->set_name("best-effort");
  web.mutable_kubernetes_resources();
  const std::string empty = Start(pod, web);
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(PodStatus(pod).pod_resources().SerializeAsString(), announced.SerializeAsString());
    EXPECT_FALSE(Status(silent).has_kubernetes_resources());
    EXPECT_TRUE(Status(empty).has_kubernetes_resources());
    EXPECT_THAT(PictureFile(pod),
                HasSubstr(R"("user_specified_image":"docker.io/library/busybox")"));
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  cri::UpdateContainerResourcesRequest update;
  update.set_container_id(silent);
  update.mutable_kubernetes_resources();
  cri::UpdateContainerResourcesResponse updated;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, update, &updated).ok());
  EXPECT_TRUE(Status(silent).has_kubernetes_resources());
}

TEST_F(PassDownTest, AnUpdatesAnnotationsAreShown) {
  const std::string pod = RunAnnounced();
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  (*request.mutable_annotations())["example.com/option"] = "fast";
  ASSERT_TRUE(Update(request).ok());
  cri::PodSandboxStatusRequest look;
  look.set_pod_sandbox_id(pod);
  look.set_verbose(true);
  cri::PodSandboxStatusResponse shown;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().PodSandboxStatus(&context, look, &shown).ok());
  EXPECT_THAT(shown.info().at("info"),
              HasSubstr(R"("update_annotations":{"example.com/option":"fast"})"));
  EXPECT_FALSE(shown.status().annotations().contains("example.com/option"));
  // They don't reach the container's OCI spec.
  EXPECT_THAT(OciConfig(Start(pod, Web())), Not(HasSubstr("example.com/option")));
}

TEST_F(PassDownTest, APodsOwnCpusetOutlivesARestart) {
  if (!Host().Exists("sys/devices/system/cpu/cpu1")) GTEST_SKIP() << "needs two CPUs";
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  const std::string own = CgroupOf(pod, id);
  const std::string group = own.substr(0, own.rfind('/'));
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  request.mutable_resources()->set_cpuset_cpus("0");
  ASSERT_TRUE(Update(request).ok());
  ASSERT_EQ(Cgroups().Read(group)->cpuset_cpus, "0");
  node_.KillDaemon();
  const bool is_v1 = Cgroups().layout() != linux::CgroupLayout::kV2;
  const auto in_cpuset = [&] { return *Cgroups().ReadFile(own, "cpuset", "cgroup.procs"); };
  if (is_v1) {  // the last one to be restored shows that all have followed
    const std::vector<pid_t> pids = *Cgroups().Processes(own, /*recursive=*/true);
    for (const pid_t pid : pids) {
      ASSERT_TRUE(Cgroups().WriteFile(group, "cpuset", "cgroup.procs", absl::StrCat(pid)).ok());
    }
    ASSERT_EQ(in_cpuset(), "");
  }
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(!is_v1 || Eventually([&] { return !in_cpuset().empty(); }));
  EXPECT_EQ(Cgroups().Read(group)->cpuset_cpus, "0");
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2"), "0\n");
}

TEST_F(PassDownTest, WhatCannotBeMeantIsRefused) {
  cri::PodSandboxConfig config = PodConfig();
  *config.mutable_pod_resources() = Announcing("-1");
  std::string id;
  const grpc::Status refused = TryRunPod(config, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("config.pod_resources.containers[0] (\"web\").kubernetes_resources: cpu: "
                        "the limit -1 is negative"));
}

TEST_F(PassDownTest, APodsOwnGroupIsChangedWhileItRuns) {
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  const std::string group = CgroupOf(pod, id).substr(0, CgroupOf(pod, id).rfind('/'));
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  request.mutable_resources()->set_cpu_period(100000);
  request.mutable_resources()->set_cpu_quota(150000);
  request.mutable_resources()->set_memory_limit_in_bytes(1 << 30);
  *request.mutable_pod_resources() = Announcing("2");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(Cgroups().Read(group)->cpu_quota_us, 150000);
  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 1 << 30);
  EXPECT_EQ(PodStatus(pod).pod_resources().SerializeAsString(),
            Announcing("2").SerializeAsString());
  // An update that the kernel can't take changes nothing.
  request.mutable_resources()->set_cpu_quota(70000);
  request.mutable_resources()->set_cpuset_cpus("4000");
  *request.mutable_pod_resources() = Announcing("3");
  if (Cgroups().layout() != linux::CgroupLayout::kV2) {  // v2 accepts CPUs that don't exist
    EXPECT_FALSE(Update(request).ok());
    EXPECT_EQ(Cgroups().Read(group)->cpu_quota_us, 150000);
    EXPECT_EQ(PodStatus(pod).pod_resources().SerializeAsString(),
              Announcing("2").SerializeAsString());
  }
}

TEST_F(PassDownTest, AContainerCanFindThePictureWhereThePodAsks) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["plimsoll.dev/pod-resources-mount"] = "/etc/pod";
  *config.mutable_pod_resources() = Announcing("0.50");
  const std::string pod = RunPod(config);
  cri::ContainerConfig web = Web();
  web.mutable_linux()->mutable_security_context()->mutable_run_as_user()->set_value(1000);
  const std::string id = Start(pod, web);
  const std::string read = "cat /etc/pod/pod-resources.json";
  EXPECT_EQ(ExecOutput(id, read), PictureFile(pod));
  EXPECT_EQ(ExecOutput(id, "rm -f /etc/pod/pod-resources.json 2>/dev/null; echo $?"), "1\n");
  ASSERT_TRUE(UpdateCpuLimit(id, "1.50").ok());
  EXPECT_THAT(ExecOutput(id, read), HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));
  // A container's own mount at that place would be ambiguous.
  cri::ContainerConfig own = Web();
  own.mutable_metadata()->set_attempt(1);
  cri::Mount* mount = own.add_mounts();
  mount->set_container_path("/etc/pod/");
  mount->set_host_path("/tmp");
  std::string unused;
  EXPECT_EQ(TryCreate(pod, own, &unused).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  (*config.mutable_annotations())["plimsoll.dev/pod-resources-mount"] = "etc";
  config.mutable_metadata()->set_attempt(1);
  EXPECT_EQ(TryRunPod(config, &unused).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(PassDownTest, AContainersUserCanReadThePictureWhateverUmaskTheDaemonIsStartedWith) {
  ASSERT_TRUE(node_.StopDaemon().ok());
  const mode_t before = umask(077);
  const absl::Status started = node_.StartDaemon();
  umask(before);
  ASSERT_TRUE(started.ok()) << started;
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["plimsoll.dev/pod-resources-mount"] = "/etc/pod";
  *config.mutable_pod_resources() = Announcing("0.50");
  const std::string pod = RunPod(config);
  cri::ContainerConfig web = Web();
  web.mutable_linux()->mutable_security_context()->mutable_run_as_user()->set_value(1000);
  const std::string id = Start(pod, web);
  EXPECT_THAT(PictureFile(pod), HasSubstr("500m"));
  EXPECT_EQ(ExecOutput(id, "cat /etc/pod/pod-resources.json"), PictureFile(pod));
}

TEST_F(PassDownTest, WhatIsShownIsAsItsSchemaSays) {
  cri::PodSandboxConfig config = PodConfig();
  *config.mutable_pod_resources() = Announcing("0.50");
  cri::ContainerResourceConfig* web = config.mutable_pod_resources()->mutable_containers(0);
  cri::Mount* mount = web->add_mounts();
  mount->set_container_path("/data");
  mount->set_readonly(true);
  mount->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  mount->mutable_image()->set_image("busybox");
  mount->set_image_sub_path("bin");
  mount->add_mount_options("noexec");
  mount->add_uidmappings()->set_length(65536);
  mount->add_gidmappings()->set_host_id(1000);
  cri::Device* device = web->add_devices();
  device->set_container_path("/dev/fuse");
  device->set_host_path("/dev/fuse");
  device->set_permissions("rw");
  web->add_cdi_devices()->set_name("example.com/gpu=0");
  (*config.mutable_pod_resources()->mutable_kubernetes_resources()->mutable_limits())["memory"]
      .set_string("1e9");
  const std::string pod = RunPod(config);
  Command check;
  check.argv = {SourcePath("tools/check_json"), SourcePath("api/schema/pod-resources.schema.json"),
                PictureFileName(pod)};
  const auto checked = RunProgram(check);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->exit.code, 0) << checked->out << checked->err;
}

// A pod that announced nothing may look too: its picture follows its containers.
TEST_F(PassDownTest, ThePictureOfAPodThatAnnouncedNothingFollowsItsContainers) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["plimsoll.dev/pod-resources-mount"] = "/etc/pod";
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Web());
  const std::string alone = ExecOutput(id, "cat /etc/pod/pod-resources.json");
  EXPECT_THAT(alone, HasSubstr(R"("name":"web")"));
  cri::ContainerConfig other = Web();
  other.mutable_metadata()->set_name("other");
  Start(pod, other);
  EXPECT_THAT(ExecOutput(id, "cat /etc/pod/pod-resources.json"), HasSubstr(R"("name":"other")"));
}

class PassDownGateTest : public PassDownTest {
 protected:
  PassDownGateTest()
      : PassDownTest("feature_gates:\n  KubeletContainerResourcesInPodSandbox: false\n") {}
};

TEST_F(PassDownGateTest, WithoutTheGateNothingIsStoredOrShown) {
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  EXPECT_FALSE(PodStatus(pod).has_pod_resources());
  EXPECT_EQ(PictureFile(pod), "");
  EXPECT_THAT(OciConfig(id), HasSubstr("\"ociVersion\""));
  EXPECT_THAT(OciConfig(id), Not(HasSubstr("plimsoll.dev/pod-resources")));
}

class PassDownGatesTest : public PassDownTest {
 protected:
  void RestartWith(bool gate) {
    ASSERT_TRUE(node_.StopDaemon().ok());
    const FsRoot directory = *FsRoot::Open(node_.directory());
    std::string text = *directory.Read("plimsolld.yaml");
    text = text.substr(0, text.find("feature_gates"));
    absl::StrAppend(&text, "feature_gates: {KubeletContainerResourcesInPodSandbox: ",
                    gate ? "true" : "false", "}\n");
    ASSERT_TRUE(directory.ReplaceFile("plimsolld.yaml", text).ok());
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  std::string Picture(const std::string& pod) {
    cri::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(pod);
    request.set_verbose(true);
    cri::PodSandboxStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().PodSandboxStatus(&context, request, &response).ok());
    const auto found = response.info().find("podResources");
    return found == response.info().end() ? "" : found->second;
  }
};

// Existing pods keep their picture as it was before the gate went off.
TEST_F(PassDownGatesTest, PodsLiveThroughIt) {
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  ASSERT_TRUE(UpdateCpuLimit(id, "1.50").ok());
  const std::string picture = PictureFile(pod);
  EXPECT_THAT(picture, HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));
  std::string between;
  for (int restarts = 0; restarts < 2; ++restarts) {
    RestartWith(false);
    EXPECT_FALSE(PodStatus(pod).has_pod_resources());
    EXPECT_FALSE(Status(id).has_kubernetes_resources());
    EXPECT_EQ(Picture(pod), "");
    EXPECT_EQ(PictureFile(pod), picture) << "what hooks were shown stays";
    // Fields 4112 aren't read; everything else works as before.
    EXPECT_TRUE(UpdateCpuLimit(id, "no quantity").ok());
    cri::UpdatePodSandboxResourcesRequest update;
    update.set_pod_sandbox_id(pod);
    *update.mutable_pod_resources() = Announcing("9");
    EXPECT_TRUE(Update(update).ok());
    EXPECT_EQ(ExecOutput(id, "echo runs"), "runs\n");
    if (between.empty()) between = RunAnnounced();
  }
  cri::ContainerConfig log = Web();
  log.mutable_metadata()->set_name("log");
  (*log.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("1");
  const std::string made_between = Start(pod, log);
  EXPECT_THAT(OciConfig(made_between), Not(HasSubstr("plimsoll.dev/pod-resources")));
  RestartWith(true);
  EXPECT_EQ(PodStatus(pod).pod_resources().SerializeAsString(),
            Announcing("0.50").SerializeAsString());
  EXPECT_EQ(Status(id).kubernetes_resources().limits().at("cpu").string(), "1.50");
  EXPECT_THAT(PictureFile(pod), HasSubstr(R"("total":{"requests":{"cpu":"1500m"})"));
  EXPECT_FALSE(PodStatus(between).has_pod_resources()) << "nothing was stored";
  EXPECT_FALSE(Status(made_between).has_kubernetes_resources());
  ASSERT_TRUE(UpdateCpuLimit(id, "2").ok());
  EXPECT_THAT(PictureFile(pod), HasSubstr(R"("total":{"requests":{"cpu":"2"})"));
}

// A container's old word and the pod's later one, through the daemon; the attempt as announced.
TEST_F(PassDownTest, TheLatestWordHoldsOverRestarts) {
  const std::string pod = RunAnnounced();
  const std::string id = Start(pod, Web());
  ASSERT_TRUE(UpdateCpuLimit(id, "1.50").ok());
  ASSERT_TRUE(StopContainer(id, 0).ok());
  cri::UpdatePodSandboxResourcesRequest update;
  update.set_pod_sandbox_id(pod);
  *update.mutable_pod_resources() = Announcing("4");
  ASSERT_TRUE(Update(update).ok());
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(PictureFile(pod), HasSubstr(R"("total":{"requests":{"cpu":"4"})"));
  cri::ContainerConfig next = Web();
  next.mutable_metadata()->set_attempt(1);
  (*next.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("4");
  const std::string second = Start(pod, next);
  EXPECT_THAT(OciConfig(second), HasSubstr(R"(\"total\":{\"requests\":{\"cpu\":\"4\"})"));
  EXPECT_THAT(node_.Log(), Not(HasSubstr("not as it was announced")));
  next.mutable_metadata()->set_attempt(2);
  (*next.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("1.50");
  ASSERT_TRUE(StopContainer(second, 0).ok());
  Start(pod, next);
  EXPECT_THAT(node_.Log(), HasSubstr("limit of cpu is 1500m, announced was 4"));
}

TEST_F(PassDownTest, WhatContradictsLinuxIsLogged) {
  const std::string pod = RunAnnounced();
  cri::ContainerConfig web = Web();
  (*web.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("0.50");
  web.mutable_linux()->mutable_resources()->set_cpu_shares(512);
  web.mutable_linux()->mutable_resources()->set_cpu_period(100000);
  web.mutable_linux()->mutable_resources()->set_cpu_quota(50000);
  const std::string id = Start(pod, web);
  EXPECT_THAT(node_.Log(), Not(HasSubstr("contradict linux")));
  cri::LinuxContainerResources linux;
  linux.set_cpu_quota(70000);
  ASSERT_TRUE(TryUpdate(id, linux).ok());
  EXPECT_THAT(node_.Log(), HasSubstr("the limit of cpu is 0.50, linux has a quota of 70000 in "
                                     "100000 microseconds (700m)"));
  EXPECT_EQ(Status(id).resources().linux().cpu_quota(), 70000) << "linux holds";
}

TEST_F(PassDownTest, APodsGroupHasItsOverheadToo) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 << 20);
  config.mutable_linux()->mutable_overhead()->set_memory_limit_in_bytes(16 << 20);
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Web());
  const std::string group = CgroupOf(pod, id).substr(0, CgroupOf(pod, id).rfind('/'));
  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 80 << 20);
  cri::UpdatePodSandboxResourcesRequest update;
  update.set_pod_sandbox_id(pod);
  update.mutable_resources()->set_memory_limit_in_bytes(128 << 20);
  ASSERT_TRUE(Update(update).ok());
  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 144 << 20);
}

}  // namespace
}  // namespace plimsoll::testing
