// plimsolld as a unit of systemd: in a virtual machine that systemd runs, started by systemd.py.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMemoryLimit = 64 << 20;

class SystemdTest : public NodeTest {
 protected:
  // As plimsolld's own defaults are.
  SystemdTest()
      : NodeTest(
            NodePlaces{"/root/plimsoll-test", "/run/plimsoll", "/var/lib/plimsoll", "/plimsoll"}) {}

  void SetUp() override {
    AwaitDaemon();
    if (!Host().Exists(node_.directory() + "/busybox")) ImportBusybox();
  }
  void TearDown() override {
    RemoveAllPods();
    if (HasFailure()) GTEST_LOG_(INFO) << Run({"journalctl", "--no-pager", "-u", "plimsolld"});
  }

  static std::string Run(std::vector<std::string> argv) {
    argv[0] = "/usr/bin/" + argv[0];
    const auto out = RunChecked({.argv = argv}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or("");
  }

  void AwaitDaemon() {
    EXPECT_TRUE(Eventually([&] {
      node_.Connect();
      cri::VersionResponse version;
      grpc::ClientContext context;
      return node_.runtime().Version(&context, {}, &version).ok();
    })) << Run({"journalctl", "--no-pager", "-u", "plimsolld"});
  }

  // A pod's slice as kubelet has it made: accounted for, so that systemd gives it controllers.
  // Gives its directory.
  static std::string StartSlice(const std::string& name) {
    EXPECT_TRUE(Host()
                    .ReplaceFile(absl::StrCat("run/systemd/system/", name),
                                 "[Slice]\nCPUAccounting=yes\nMemoryAccounting=yes\n"
                                 "TasksAccounting=yes\n")
                    .ok());
    Run({"systemctl", "daemon-reload"});
    Run({"systemctl", "start", name});
    return absl::StrCat("/sys/fs/cgroup/kubepods.slice/", name);
  }

  std::string RunPodIn(const std::string& slice) {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->set_cgroup_parent(slice);
    return RunPod(config);
  }

  std::string StartLimited(const std::string& pod) {
    cri::ContainerConfig config = Shell("n=0; while :; do echo $n; n=$((n+1)); sleep 0.05; done");
    cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
    resources->set_memory_limit_in_bytes(kMemoryLimit);
    resources->set_cpu_quota(50000);
    resources->set_cpu_period(100000);
    return Start(pod, config);
  }

  void ExpectLimited(const std::string& directory) {
    EXPECT_EQ(Host().Read(directory + "/memory.max").value_or("no such file"),
              absl::StrCat(kMemoryLimit, "\n"));
    EXPECT_EQ(Host().Read(directory + "/cpu.max").value_or("no such file"), "50000 100000\n");
  }

  // When the container's first process was started, in ticks: another process has another.
  std::string InitOf(const std::string& container) {
    return ExecOutput(container, "cut -d' ' -f22 /proc/1/stat");
  }
};

TEST_F(SystemdTest, TellsKubeletThatSystemdManagesControlGroups) {
  cri::RuntimeConfigResponse config;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().RuntimeConfig(&context, {}, &config).ok());
  EXPECT_EQ(config.linux().cgroup_driver(), cri::SYSTEMD);
}

// `systemctl kill` means every process in the unit's group.
TEST_F(SystemdTest, WhateverHappensToTheUnitPodsRunOn) {
  const std::string slice = StartSlice("kubepods-pod1.slice");
  const std::string in_slice = StartLimited(RunPodIn("kubepods-pod1.slice"));
  cri::PodSandboxConfig shared = PodConfig();
  shared.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  const std::string plain = StartLimited(RunPod(shared));
  const std::string scope = absl::StrCat(slice, "/plimsoll-", in_slice, ".scope");
  ExpectLimited(scope);
  const std::string first = InitOf(in_slice);
  const std::vector<std::vector<std::string>> calls = {
      {"systemctl", "restart", "plimsolld"}, {"systemctl", "kill", "-s", "KILL", "plimsolld"},
      {"systemctl", "daemon-reexec"},        {"systemctl", "reload", "plimsolld"},
      {"systemctl", "stop", "plimsolld"},    {"systemctl", "start", "plimsolld"}};
  for (const std::vector<std::string>& call : calls) {
    SCOPED_TRACE(absl::StrCat(call[1]));
    const std::string before = Run({"systemctl", "show", "-P", "MainPID", "plimsolld"});
    Run(call);
    if (call[1] == "stop") continue;
    if (call[1] == "kill") {
      EXPECT_TRUE(Eventually([&] {
        const std::string now = Run({"systemctl", "show", "-P", "MainPID", "plimsolld"});
        return now != before && now != "0\n";
      })) << "Restart=always";
    }
    AwaitDaemon();
    for (const std::string& id : {in_slice, plain}) {
      ASSERT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
      const size_t lines = Output(id).size();
      EXPECT_TRUE(Eventually([&] { return Output(id).size() > lines; })) << "its log goes on";
    }
    EXPECT_EQ(InitOf(in_slice), first) << "the same process";
    ExpectLimited(scope);
  }
  // Only a monitor can know that.
  for (const std::string& id : {in_slice, plain}) {
    EXPECT_TRUE(StopContainer(id, 0).ok());
    EXPECT_EQ(Status(id).exit_code(), 137);
  }
}

// systemd takes controllers away from what it doesn't know of, unless they are in use below.
TEST_F(SystemdTest, LimitsSurviveWhatIsDoneToTheSlice) {
  const std::string slice = StartSlice("kubepods-pod2.slice");
  const std::string pod = RunPodIn("kubepods-pod2.slice");
  const std::string first = StartLimited(pod);
  const std::string scope = absl::StrCat(slice, "/plimsoll-", first, ".scope");
  const std::vector<std::vector<std::string>> calls = {
      {"systemctl", "daemon-reload"},
      {"systemctl", "set-property", "--runtime", "kubepods-pod2.slice", "CPUWeight=50"},
      {"systemctl", "set-property", "--runtime", "kubepods-pod2.slice", "MemoryMax=512M"},
      {"systemctl", "set-property", "--runtime", "kubepods.slice", "CPUWeight=50"},
      {"systemd-run", "--quiet", "--slice=kubepods-pod2.slice", "true"},
      {"systemctl", "daemon-reexec"}};
  for (const std::vector<std::string>& call : calls) {
    SCOPED_TRACE(absl::StrJoin(call, " "));
    Run(call);
    ExpectLimited(scope);
  }
  const std::string second = StartLimited(pod);
  ExpectLimited(absl::StrCat(slice, "/plimsoll-", second, ".scope"));
  cri::LinuxContainerResources update;
  update.set_memory_limit_in_bytes(2 * kMemoryLimit);
  ASSERT_TRUE(TryUpdate(first, update).ok());
  EXPECT_EQ(*Host().Read(scope + "/memory.max"), absl::StrCat(2 * kMemoryLimit, "\n"));
}

TEST_F(SystemdTest, NothingOfOursIsLeftInASlice) {
  const std::string slice = StartSlice("kubepods-pod3.slice");
  const std::string pod = RunPodIn("kubepods-pod3.slice");
  StartLimited(pod);
  EXPECT_THAT(*Host().List(slice), Contains(HasSubstr("plimsoll-")));
  EXPECT_TRUE(StopPod(pod).ok());
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_THAT(*Host().List(slice), Not(Contains(HasSubstr("plimsoll-"))));
  Run({"systemctl", "stop", "kubepods-pod3.slice"});
  EXPECT_FALSE(Host().Exists(slice));
}

}  // namespace
}  // namespace plimsoll::testing
