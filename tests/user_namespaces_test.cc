// Pods in a user namespace of their own, and volumes with mapped ids.
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kHostId = 300000;

class UserNamespacesTest : public NodeTest {
 protected:
  void SetUp() override {
    // Pods with user namespaces must be able to reach the run directory.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    NodeTest::SetUp();
    if (HasFatalFailure()) return;
    if (!IsAdvertised()) GTEST_SKIP() << "this machine has no user namespaces for pods: " << Why();
  }
  cri::StatusResponse NodeStatus() {
    grpc::ClientContext context;
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    return response;
  }
  bool IsAdvertised() { return NodeStatus().runtime_handlers(0).features().user_namespaces(); }
  std::string Why() { return NodeStatus().info().at("limitations"); }

  static void Map(cri::IDMapping* mapping) {
    mapping->set_host_id(kHostId);
    mapping->set_length(65536);
  }
  cri::PodSandboxConfig UserPodConfig() {
    cri::PodSandboxConfig config = PodConfig();
    cri::NamespaceOption* options =
        config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
    options->set_pid(cri::CONTAINER);
    options->mutable_userns_options()->set_mode(cri::POD);
    Map(options->mutable_userns_options()->add_uids());
    Map(options->mutable_userns_options()->add_gids());
    return config;
  }
  std::string RunUserPod() { return RunPod(UserPodConfig()); }
  std::string RunToEnd(const cri::ContainerConfig& config) {
    const std::string id = Start(RunUserPod(), config);
    AwaitExit(id);
    return Output(id);
  }
  // User id of the container's first process, on the host.
  std::string HostUserOf(const std::string& pod, const std::string& container) {
    const auto processes = Cgroups().Processes(CgroupOf(pod, container), true);
    if (!processes.ok() || processes->empty()) return "none";
    const auto status = Host().Read(absl::StrCat("proc/", processes->front(), "/status"));
    if (!status.ok()) return "none";
    for (const absl::string_view line : absl::StrSplit(*status, '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, '\t');
      if (words[0] == "Uid:") return words[1];
    }
    return "none";
  }
  std::string Volume() {
    const std::string path = absl::StrCat(node_.directory(), "/volume");
    EXPECT_TRUE(Host().MakeDirs(path, 0755).ok());
    return path;
  }
};

TEST_F(UserNamespacesTest, TheRootDirectorysOwnerIsMapped) {
  const auto rootfs = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/private"), 0755);
  ASSERT_TRUE(rootfs.ok()) << rootfs.status();
  ASSERT_TRUE(MakeBusyboxRootfs(*rootfs).ok());
  // An id inside the namespace, and one beyond it.
  ASSERT_EQ(chown(rootfs->path().c_str(), 1000, 70000), 0);
  ASSERT_EQ(chmod(rootfs->path().c_str(), 0751), 0);
  ASSERT_TRUE(Import(rootfs->path(), "private").ok());
  cri::ContainerConfig config = Shell("stat -c '%a %u:%g' /");
  config.mutable_image()->set_image("private");
  EXPECT_EQ(RunToEnd(config), "751 1000:0\n");
}

TEST_F(UserNamespacesTest, RootOfAContainerIsNobodyOnTheHost) {
  const std::string pod = RunUserPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.set_working_dir("/made/on/demand");
  const std::string id = Start(pod, config);
  EXPECT_EQ(ExecOutput(id, "id -u; tr -s ' ' < /proc/self/uid_map"),
            absl::StrCat("0\n 0 ", kHostId, " 65536\n"));
  EXPECT_EQ(HostUserOf(pod, id), absl::StrCat(kHostId));
  // The container's files belong to it, the image's and those it writes.
  EXPECT_EQ(ExecOutput(id, "stat -c %u:%g / /bin /bin/busybox /made/on/demand"),
            "0:0\n0:0\n0:0\n0:0\n");
  EXPECT_EQ(ExecOutput(id,
                       "echo x > /etc/made; echo x >> /etc/passwd; stat -c %u:%g /etc/made "
                       "/etc/passwd"),
            "0:0\n0:0\n");
  const std::string upper = absl::StrCat(node_.state_directory(), "/containers/", id, "/upper");
  EXPECT_EQ(Host().Stat(upper + "/etc/made")->st_uid, kHostId);
  EXPECT_EQ(Host().Stat(upper + "/etc/passwd")->st_uid, kHostId);
  const cri::UserNamespace shown = PodStatus(pod).linux().namespaces().options().userns_options();
  EXPECT_EQ(shown.mode(), cri::POD);
  EXPECT_EQ(shown.uids(0).host_id(), kHostId);
  EXPECT_EQ(shown.gids(0).length(), 65536u);
}

TEST_F(UserNamespacesTest, ItOwnsThePodsOtherNamespaces) {
  cri::PodSandboxConfig config = UserPodConfig();
  (*config.mutable_linux()->mutable_sysctls())["kernel.shmmni"] = "123";
  (*config.mutable_linux()->mutable_sysctls())["net.ipv4.ip_unprivileged_port_start"] = "80";
  const std::string host_shmmni = *Host().Read("proc/sys/kernel/shmmni");
  const std::string pod = RunPod(config);
  cri::ContainerConfig admin = Shell("sleep 1000");
  admin.mutable_linux()->mutable_security_context()->mutable_capabilities()->add_add_capabilities(
      "ALL");
  const std::string one = Start(pod, admin);
  const std::string two = Start(pod, Shell("sleep 1000"));
  for (const char* ns : {"user", "net", "ipc", "uts"}) {
    const std::string link = absl::StrCat("readlink /proc/self/ns/", ns);
    EXPECT_EQ(ExecOutput(one, link), ExecOutput(two, link)) << ns;
    EXPECT_NE(ExecOutput(one, link),
              absl::StrCat(*Host().ReadLink(absl::StrCat("proc/self/ns/", ns)), "\n"))
        << ns;
  }
  EXPECT_EQ(ExecOutput(one,
                       "cat /proc/sys/kernel/shmmni "
                       "/proc/sys/net/ipv4/ip_unprivileged_port_start"),
            "123\n80\n");
  EXPECT_EQ(*Host().Read("proc/sys/kernel/shmmni"), host_shmmni);
  // The container's root may change what belongs to its namespaces.
  EXPECT_EQ(ExecOutput(one, "hostname changed && hostname; ip link set lo down && echo down"),
            "changed\ndown\n");
  ExecOutput(one, "echo shared > /dev/shm/x");
  EXPECT_EQ(ExecOutput(two, "cat /dev/shm/x"), "shared\n");
}

TEST_F(UserNamespacesTest, AllItsGroupsMayPing) {
  EXPECT_EQ(RunToEnd(Shell("cd /proc/sys/net/ipv4; cat ip_unprivileged_port_start "
                           "ping_group_range")),
            "0\n0\t65535\n");
  cri::PodSandboxConfig config = UserPodConfig();
  config.mutable_metadata()->set_attempt(1);
  (*config.mutable_linux()->mutable_sysctls())["net.ipv4.ping_group_range"] = "5 10";
  const std::string id = Start(RunPod(config), Shell("cat /proc/sys/net/ipv4/ping_group_range"));
  AwaitExit(id);
  EXPECT_THAT(Output(id), ::testing::EndsWith("5\t10\n"));
}

TEST_F(UserNamespacesTest, TheUsualLimitsHoldToo) {
  cri::ContainerConfig config = Shell(
      "id -u; id -g; grep -E 'Seccomp:|NoNewPrivs:' /proc/self/status | tr -d '\\t'; "
      "wc -c < /proc/keys; touch /x 2>/dev/null; echo $?; test -w /dev/null; echo $?");
  cri::LinuxContainerSecurityContext* security = config.mutable_linux()->mutable_security_context();
  security->mutable_run_as_user()->set_value(1000);
  security->set_no_new_privs(true);
  security->set_readonly_rootfs(true);
  security->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  for (const char* path : {"/proc/kcore", "/proc/keys", "/sys/firmware"}) {
    security->add_masked_paths(path);
  }
  for (const char* path : {"/proc/bus", "/proc/sys", "/proc/sysrq-trigger"}) {
    security->add_readonly_paths(path);
  }
  EXPECT_EQ(RunToEnd(config), "1000\n1000\nNoNewPrivs:1\nSeccomp:2\n0\n1\n0\n");
}

TEST_F(UserNamespacesTest, VolumesAreThePodsWhereTheirIdsAreMapped) {
  const std::string volume = Volume();
  ASSERT_TRUE(Host().ReplaceFile(volume + "/of-root", "x", 0600).ok());
  cri::ContainerConfig config = Shell(
      "stat -c %u:%g /mapped/of-root /plain/of-root; cat /mapped/of-root; echo; "
      "cat /plain/of-root 2>/dev/null || echo no; touch /mapped/made");
  cri::Mount* mapped = config.add_mounts();
  mapped->set_host_path(volume);
  mapped->set_container_path("/mapped");
  Map(mapped->add_uidmappings());
  Map(mapped->add_gidmappings());
  cri::Mount* plain = config.add_mounts();
  plain->set_host_path(volume);
  plain->set_container_path("/plain");
  EXPECT_EQ(RunToEnd(config), "0:0\n65534:65534\nx\nno\n");
  EXPECT_EQ(Host().Stat(volume + "/made")->st_uid, 0u);
}

TEST_F(UserNamespacesTest, IdsOfAVolumeCanBeMappedWithoutOne) {
  const std::string volume = Volume();
  ASSERT_TRUE(Host().ReplaceFile(volume + "/of-root", "x", 0644).ok());
  cri::ContainerConfig config = Shell("stat -c %u:%g /v/of-root");
  cri::Mount* mapped = config.add_mounts();
  mapped->set_host_path(volume);
  mapped->set_container_path("/v");
  Map(mapped->add_uidmappings());
  Map(mapped->add_gidmappings());
  mapped->mutable_gidmappings(0)->set_host_id(7);
  const std::string id = Start(RunPod(), config);
  AwaitExit(id);
  EXPECT_EQ(Output(id), absl::StrCat(kHostId, ":7\n"));
}

TEST_F(UserNamespacesTest, ImagesOfVolumesAreThePodsToo) {
  const auto data = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/data"), 0755);
  ASSERT_TRUE(data.ok() && data->ReplaceFile("one", "one\n", 0600).ok());
  ASSERT_TRUE(Import(data->path(), "registry.test/data:1").ok());
  cri::ContainerConfig config = Shell("stat -c %u:%g /image/one; cat /image/one");
  cri::Mount* image = config.add_mounts();
  image->set_container_path("/image");
  image->set_readonly(true);
  image->mutable_image()->set_image("registry.test/data:1");
  EXPECT_EQ(RunToEnd(config), "0:0\none\n");
}

TEST_F(UserNamespacesTest, ASharedPidNamespaceIsInIt) {
  cri::PodSandboxConfig pod_config = UserPodConfig();
  pod_config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  const std::string pod = RunPod(pod_config);
  const auto shared = [&](const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    return config;
  };
  const std::string one = Start(pod, shared("sleep 75001; :"));
  const std::string two = Start(pod, shared("sleep 1000"));
  EXPECT_THAT(ExecOutput(two, "while ! ps | grep -q '[s]leep 75001'; do sleep 0.01; done; ps"),
              HasSubstr("sleep 75001"));
  EXPECT_THAT(ExecOutput(two, "cat /proc/1/status"), HasSubstr("CapEff:\t0000000000000000"));
  cri::ContainerConfig debug = Shell("sleep 1000");
  cri::NamespaceOption* options =
      debug.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  options->set_pid(cri::TARGET);
  options->set_target_id(one);
  EXPECT_THAT(ExecOutput(Start(pod, debug), "ps"), HasSubstr("sleep 75001"));
}

TEST_F(UserNamespacesTest, ItOutlivesTheDaemon) {
  const std::string pod = RunUserPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  const std::string link = "readlink /proc/self/ns/user";
  const std::string before = ExecOutput(id, link);
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
  EXPECT_EQ(ExecOutput(id, link), before);
  EXPECT_EQ(ExecOutput(Start(pod, Shell("sleep 1000")), link), before);
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_TRUE(MountsBelow(node_.run_directory() + "/sandboxes").empty());
}

TEST_F(UserNamespacesTest, WhatCannotBeMappedIsRefusedAndNamed) {
  cri::ContainerConfig config = Shell("true");
  cri::Mount* mapped = config.add_mounts();
  mapped->set_host_path("/proc");  // no kernel maps /proc's ids
  mapped->set_container_path("/v");
  Map(mapped->add_uidmappings());
  Map(mapped->add_gidmappings());
  std::string id;
  const grpc::Status status = TryCreate(RunUserPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("of /proc"));
}

// Below a directory closed to others, a container of such a pod can't reach its root.
class ClosedUserNamespacesTest : public UserNamespacesTest {
 protected:
  void SetUp() override { NodeTest::SetUp(); }
};

TEST_F(ClosedUserNamespacesTest, AreNotAdvertisedAndRefused) {
  EXPECT_FALSE(IsAdvertised());
  EXPECT_THAT(Why(), HasSubstr("no user namespaces for pods"));
  std::string id;
  const grpc::Status status = TryRunPod(UserPodConfig(), &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("a user namespace of its own can't be had here"));
  EXPECT_THAT(*Host().List(node_.run_directory() + "/sandboxes"), ElementsAre());
}

}  // namespace
}  // namespace plimsoll::testing
