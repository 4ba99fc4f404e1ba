// Plimsoll as `make install` lays it down, under systemd: each packaged unit starts, and what users
// do first works. In a virtual machine, started by installed.py.
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/groups/pod_groups.h"
#include "base/dir_for_test.h"
#include "harness/api_server.h"
#include "harness/drivers_kubelet.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "unit_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kPodQuota[] = "50000 100000";
constexpr char kKubelets[] = "/var/lib/kubelet/pod-resources/kubelet.sock";
constexpr char kKubesState[] = "/var/lib/plimsoll-kube";

// Options of a mount and of its file system, by the mount's id.
std::map<std::string, std::string> MountOptions() {
  std::map<std::string, std::string> options;
  const std::string text = Host().Read("proc/self/mountinfo").value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    options[absl::StrCat(words[0], " ", words[4])] =
        absl::StrCat(words[5], " of a file system with ", words.back());
  }
  return options;
}

// The values of `before` that are others now.
std::vector<std::string> Changed(const std::map<std::string, std::string>& before) {
  std::vector<std::string> changed;
  const std::map<std::string, std::string> now = MountOptions();
  for (const auto& [mount, options] : before) {
    const auto at = now.find(mount);
    if (at != now.end() && at->second != options) {
      changed.push_back(absl::StrCat(mount, ": ", options, " became ", at->second));
    }
  }
  return changed;
}

class InstalledTest : public UnitTest {
 protected:
  // A pod of the machine's network: plugins aren't here.
  cri::PodSandboxConfig HostsPod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
        cri::NODE);
    return config;
  }
  static std::string Journal(const std::string& unit) {
    return Run({"journalctl", "--no-pager", "-u", unit});
  }
  static std::string State(const std::string& unit) { return Property(unit, "ActiveState"); }
  static bool Becomes(const std::string& unit, const std::string& state) {
    return Eventually([&] { return State(unit) == state; });
  }
  static void WriteFile(const std::string& path, const std::string& text) {
    const absl::Status written = Host().ReplaceFile(path, text);
    ASSERT_TRUE(written.ok()) << written;
  }
};

TEST_F(InstalledTest, PlimsolldRunsAsItsUnitSays) {
  EXPECT_EQ(State("plimsolld"), "active");
  EXPECT_EQ(Property("plimsolld", "FragmentPath"),
            "/usr/local/lib/systemd/system/plimsolld.service");
  EXPECT_EQ(Property("plimsolld", "NRestarts"), "0");
  EXPECT_THAT(Run({"/usr/local/bin/plimsoll", "daemon", "status"}), HasSubstr("plimsolld"));
}

// systemd's default limit would leave the unit failed after five tries in ten seconds.
TEST_F(InstalledTest, AStartThatFailsIsTriedForAsLongAsItTakes) {
  const std::string path = "etc/plimsoll/plimsolld.yaml";
  const auto config = Host().Read(path);
  ASSERT_TRUE(config.ok()) << config.status();
  WriteFile("/" + path, *config + "\nno_such_key: 1\n");
  const auto started = Ended({"systemctl", "restart", "plimsolld"});
  EXPECT_TRUE(started.ok() && !started->exit.success());
  const auto many = [] {
    int tries = 0;
    return absl::SimpleAtoi(Property("plimsolld", "NRestarts"), &tries) && tries > 12;
  };
  EXPECT_TRUE(Eventually(many, absl::Seconds(60))) << Property("plimsolld", "NRestarts");
  WriteFile("/" + path, *config);
  EXPECT_TRUE(Becomes("plimsolld", "active")) << Journal("plimsolld");
  AwaitDaemon();
}

// Pods like kubelet's: slices of the three QoS classes, with the pods' limits, and containers in
// them by the CRI.
TEST_F(InstalledTest, PodsOfEachQosClassKeepTheirLimitsOverAReload) {
  TestDir state;
  auto groups = agent::PodGroups::Open(Host(), state.root(),
                                       {.driver = agent::CgroupDriver::kSystemd,
                                        .root = "",
                                        .allocatable = {.cpu_milli = 4000, .memory_bytes = 1 << 30},
                                        .note = nullptr});
  ASSERT_TRUE(groups.ok()) << groups.status();
  struct Case {
    resources::QosClass qos;
    const char* uid;
    int64_t memory;  // -1: no limit
    const char* slice;
  };
  const Case cases[] = {{resources::QosClass::kGuaranteed, "g1", 64 * kMiB, "kubepods-podg1.slice"},
                        {resources::QosClass::kBurstable, "u1", 96 * kMiB,
                         "kubepods-burstable.slice/kubepods-burstable-podu1.slice"},
                        {resources::QosClass::kBestEffort, "e1", -1,
                         "kubepods-besteffort.slice/kubepods-besteffort-pode1.slice"}};
  std::map<std::pair<std::string, std::string>, std::string> values;  // by group and file
  for (const Case& each : cases) {
    agent::PodAmounts amounts{.qos = each.qos};
    amounts.settings.memory_limit_bytes = each.memory;
    const bool limited = each.memory >= 0;
    amounts.settings.cpu_shares = limited ? 512 : 2;
    if (limited) {
      amounts.settings.cpu_quota_us = 50000;
      amounts.settings.cpu_period_us = 100000;
    }
    const absl::Status made = (*groups)->Ensure(each.uid, amounts);
    ASSERT_TRUE(made.ok()) << made;
    cri::PodSandboxConfig pod = HostsPod();
    pod.mutable_linux()->set_cgroup_parent((*groups)->CgroupParent(each.uid, each.qos));
    cri::ContainerConfig config = Shell("sleep 100000");
    if (limited) {
      cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
      resources->set_memory_limit_in_bytes(each.memory);
      resources->set_cpu_quota(50000);
      resources->set_cpu_period(100000);
    }
    const std::string id = Start(RunPod(pod), config);
    const std::string slice = absl::StrCat("/sys/fs/cgroup/kubepods.slice/", each.slice);
    for (const std::string& group : {slice, absl::StrCat(slice, "/plimsoll-", id, ".scope")}) {
      values[{group, "memory.max"}] = limited ? absl::StrCat(each.memory) : "max";
      values[{group, "cpu.max"}] = limited ? kPodQuota : "max 100000";
    }
  }
  const auto expect = [&] {
    for (const auto& [at, value] : values) {
      EXPECT_EQ(ReadFile(at.first, at.second), value) << at.first << " " << at.second;
    }
  };
  expect();
  Run({"systemctl", "daemon-reload"});
  // systemd writes when idle, which it is after a job.
  Run({"systemctl", "start", "plimsolld"});
  expect();
  RemoveAllPods();
  for (const Case& each : cases) EXPECT_TRUE((*groups)->Remove(each.uid).ok());
  EXPECT_TRUE((*groups)->RemoveUnusedParents().ok());
}

// CNI and CSI agents are privileged. A mount of ours must not change options that the machine
// shares: cgroup2 without memory_recursiveprot protects no pod's memory.
TEST_F(InstalledTest, APrivilegedPodLeavesTheMachinesMountsAsTheyWere) {
  const auto before = MountOptions();
  ASSERT_THAT(Run({"mount"}), HasSubstr("nsdelegate"));
  cri::PodSandboxConfig config = HostsPod();
  cri::LinuxSandboxSecurityContext* context = config.mutable_linux()->mutable_security_context();
  context->set_privileged(true);
  context->mutable_namespace_options()->set_pid(cri::NODE);
  context->mutable_namespace_options()->set_ipc(cri::NODE);
  const std::string pod = RunPod(config);
  cri::ContainerConfig container = Shell("sleep 100000");
  cri::LinuxContainerSecurityContext* own = container.mutable_linux()->mutable_security_context();
  own->set_privileged(true);
  *own->mutable_namespace_options() = context->namespace_options();
  const std::string id = Start(pod, container);
  EXPECT_THAT(ExecOutput(id, "cat /proc/1/comm"), HasSubstr("systemd"));
  EXPECT_THAT(Changed(before), IsEmpty());
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_THAT(Changed(before), IsEmpty());
}

TEST_F(InstalledTest, AnOomKillIsOneContainers) {
  const std::string pod = RunPod(HostsPod());
  const std::string other = Start(pod, Shell("sleep 100000"));
  cri::ContainerConfig hog = Shell("tail -c 1000000000 /dev/zero > /dev/null");
  hog.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 * kMiB);
  EXPECT_EQ(AwaitExit(Start(pod, hog)).reason(), "OOMKilled");
  EXPECT_EQ(Status(other).state(), cri::CONTAINER_RUNNING);
}

class KubeUnitTest : public InstalledTest {
 protected:
  KubeUnitTest() : api_(state_.path()), kubelet_("/var/lib/kubelet") {
    api_.objects().Put("/api/v1/nodes/plimsoll-vm",
                       {{"kind", "Node"}, {"metadata", {{"uid", "node-1"}}}});
    WriteFile("/etc/plimsoll/plimsoll-kube.kubeconfig", Host().Read(api_.kubeconfig()).value());
  }
  void TearDown() override {
    Run({"systemctl", "stop", "plimsoll-kube.service", "plimsoll-kube.socket"});
    InstalledTest::TearDown();
  }
  void StartKube() {
    Run({"systemctl", "start", "plimsoll-kube.socket"});
    Run({"systemctl", "start", "plimsoll-kube.service"});
  }
  static struct stat StatOf(const std::string& path) {
    struct stat place = {};
    EXPECT_EQ(lstat(path.c_str(), &place), 0) << path;
    return place;
  }

  const TestDir state_;
  ApiServer api_;
  DriversKubelet kubelet_;
};

TEST_F(KubeUnitTest, PlimsollKubeServesKubeletAndPublishesClassesWithoutRoot) {
  StartKube();
  EXPECT_EQ(State("plimsoll-kube.service"), "active") << Journal("plimsoll-kube");
  const passwd* user = getpwnam("plimsoll-kube");
  ASSERT_NE(user, nullptr);
  const std::string pid = Property("plimsoll-kube", "MainPID");
  const std::string status = Host().Read(absl::StrCat("proc/", pid, "/status")).value_or("");
  EXPECT_THAT(status, HasSubstr(absl::StrCat("Uid:\t", user->pw_uid, "\t", user->pw_uid)));
  EXPECT_THAT(status, HasSubstr("CapEff:\t0000000000000000"));
  const grpc::Status registered = kubelet_.Register();
  EXPECT_TRUE(registered.ok()) << registered.error_message() << Journal("plimsoll-kube");
  // By plimsolld's socket, which the group may use.
  EXPECT_TRUE(Eventually([&] {
    return !api_.objects().All("/apis/resource.k8s.io/v1/resourceslices").empty();
  })) << Journal("plimsoll-kube");
  Run({"systemctl", "restart", "plimsoll-kube.service"});
  EXPECT_TRUE(kubelet_.Register().ok());
  EXPECT_EQ(Property("plimsoll-kube", "NRestarts"), "0");
}

// Units before this one had DynamicUser=: systemd put the state directory behind a link, with an
// owner of that run.
TEST_F(KubeUnitTest, TheStateOfADynamicUserIsKept) {
  constexpr uid_t kDynamic = 61184 + 7;
  const std::string old = "/var/lib/private/plimsoll-kube";
  Run({"rm", "-rf", kKubesState});
  ASSERT_TRUE(Host().MakeDirs(old).ok());
  WriteFile(old + "/kept", "of an earlier unit\n");
  for (const std::string& path : {old, old + "/kept"}) {
    ASSERT_EQ(chown(path.c_str(), kDynamic, kDynamic), 0);
  }
  ASSERT_EQ(symlink("private/plimsoll-kube", kKubesState), 0);
  StartKube();
  ASSERT_EQ(State("plimsoll-kube.service"), "active") << Journal("plimsoll-kube");
  EXPECT_TRUE(S_ISDIR(StatOf(kKubesState).st_mode));
  EXPECT_EQ(ReadFile(kKubesState, "kept"), "of an earlier unit");
  const passwd* user = getpwnam("plimsoll-kube");
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(StatOf(kKubesState).st_uid, user->pw_uid);
  EXPECT_EQ(StatOf(absl::StrCat(kKubesState, "/kept")).st_uid, user->pw_uid);
  Run({"systemctl", "restart", "plimsoll-kube.service"});
  EXPECT_EQ(StatOf(kKubesState).st_uid, user->pw_uid);
}

class AgentUnitTest : public InstalledTest {
 protected:
  // A unit of kubelet's name that answers where kubelet does.
  static void StartKubelet() {
    ASSERT_TRUE(Host().MakeDirs("/var/lib/kubelet/pod-resources").ok());
    WriteFile("/run/systemd/system/kubelet.service",
              absl::StrCat("[Service]\nExecStart=/usr/bin/systemd-socket-activate -l ", kKubelets,
                           " /usr/bin/sleep 100000\n"));
    Run({"systemctl", "daemon-reload"});
    Run({"systemctl", "start", "kubelet"});
    ASSERT_TRUE(Eventually([] { return Host().Exists(kKubelets); }));
  }
  void TearDown() override {
    Ended({"systemctl", "stop", "plimsoll-agent", "kubelet"}).IgnoreError();
    InstalledTest::TearDown();
  }
};

TEST_F(AgentUnitTest, BesideAKubeletTheAgentSaysWhyAndKubeletRunsOn) {
  StartKubelet();
  const std::string kubelet = Property("kubelet", "MainPID");
  const auto started = Ended({"systemctl", "start", "plimsoll-agent"});
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_FALSE(started->exit.success());
  // Not "activating", which it would be until the next try.
  EXPECT_EQ(State("plimsoll-agent"), "failed");
  EXPECT_EQ(Property("plimsoll-agent", "ExecMainStatus"), "3");
  EXPECT_EQ(Property("plimsoll-agent", "NRestarts"), "0");
  EXPECT_THAT(Journal("plimsoll-agent"),
              HasSubstr("a kubelet or another agent runs on this machine"));
  EXPECT_EQ(State("kubelet"), "active");
  EXPECT_EQ(Property("kubelet", "MainPID"), kubelet);
}

TEST_F(AgentUnitTest, TheAgentRunsThePodsOfItsDirectory) {
  Run({"systemctl", "start", "plimsoll-agent"});
  EXPECT_EQ(State("plimsoll-agent"), "active") << Journal("plimsoll-agent");
  const std::string manifest = "/etc/plimsoll/manifests/web.yaml";
  WriteFile(manifest,
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {hostNetwork: true, "
            "terminationGracePeriodSeconds: 0, containers: [{name: main, image: busybox, "
            "imagePullPolicy: Never, command: [sleep, '100000']}]}}\n");
  const auto pods = [] {
    const auto list = Ended({"/usr/local/bin/plimsoll", "get", "pods"});
    return list.ok() ? list->out : "";
  };
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(pods(), "Running"); }))
      << pods() << Journal("plimsoll-agent");
  Run({"systemctl", "restart", "plimsoll-agent"});
  EXPECT_THAT(pods(), HasSubstr("web"));
  Run({"rm", manifest});
  EXPECT_TRUE(Eventually([&] { return !absl::StrContains(pods(), "web"); })) << pods();
}

}  // namespace
}  // namespace plimsoll::testing
