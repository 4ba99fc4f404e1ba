// plimsolld as a systemd unit, with the systemd cgroup driver, in a virtual machine that systemd
// runs, started by systemd.py.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/groups/pod_groups.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/stream_status.h"
#include "harness/websocket_client.h"
#include "systemd_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

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
  // Only a monitor can know the exit code.
  for (const std::string& id : {in_slice, plain}) {
    EXPECT_TRUE(StopContainer(id, 0).ok());
    EXPECT_EQ(Status(id).exit_code(), 137);
  }
}

TEST_F(SystemdTest, OpenStreamsOutliveTheUnitBesideTheMonitors) {
  const std::string id = Start(RunPod(), Shell("sleep 100000"));
  cri::ExecRequest request;
  request.set_container_id(id);
  for (const char* word : {"/bin/sh", "-c", "cat; exit 3"}) request.add_cmd(word);
  request.set_stdin(true);
  request.set_stdout(true);
  cri::ExecResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().Exec(&context, request, &response).ok());
  auto client = WebSocketClient::Connect(response.url(), "v5.channel.k8s.io");
  ASSERT_TRUE(client.ok()) << client.status();
  std::string expected;
  const auto answers = [&](const std::string& text) {
    expected += text;
    return (*client)->Send(0, text).ok() &&
           (*client)->ReadUntil([&] { return (*client)->received[1] == expected; }).ok();
  };
  ASSERT_TRUE(answers("before\n"));
  Run({"systemctl", "restart", "plimsolld"});
  AwaitDaemon();
  EXPECT_TRUE(answers("restarted\n"));
  // The main process and the daemon.
  EXPECT_TRUE(Eventually(
      [] { return Cgroups().Processes("/system.slice/plimsolld.service", true)->size() == 2; }));
  Run({"systemctl", "kill", "-s", "KILL", "plimsolld"});
  AwaitDaemon();
  EXPECT_TRUE(answers("killed\n"));
  Run({"systemctl", "stop", "plimsolld"});
  EXPECT_TRUE(answers("stopped\n"));
  Run({"systemctl", "start", "plimsolld"});
  AwaitDaemon();
  ASSERT_TRUE((*client)->CloseChannel(0).ok());
  ASSERT_TRUE((*client)->ReadToEnd().ok());
  EXPECT_EQ(ExitCodeOf((*client)->received[3]), 3) << (*client)->received[3];
}

// systemd takes controllers away from groups that it doesn't know, unless a group below uses them.
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

TEST_F(SystemdTest, AContainerIsAScopeThatKeepsItsValues) {
  const std::string slice = StartSlice("kubepods-pod4.slice");
  const std::string id = StartFull(RunPodIn("kubepods-pod4.slice"));
  const std::string unit = absl::StrCat("plimsoll-", id, ".scope");
  EXPECT_EQ(Property(unit, "ActiveState"), "active");
  EXPECT_EQ(Property(unit, "Slice"), "kubepods-pod4.slice");
  EXPECT_EQ(Property(unit, "Delegate"), "yes");
  EXPECT_EQ(Property(unit, "MemoryMax"), absl::StrCat(kMemoryLimit));
  EXPECT_EQ(Property(unit, "MemoryLow"), "1048576");
  EXPECT_EQ(Property(unit, "TasksMax"), "77");
  EXPECT_EQ(Property(unit, "CPUWeight"), "20");
  EXPECT_EQ(Property(unit, "AllowedCPUs"), "1-2");
  ExpectKept(absl::StrCat(slice, "/", unit), Full());
}

TEST_F(SystemdTest, ACgroupParentMayBeAPathToo) {
  const std::string slice = StartSlice("kubepods-pod5.slice");
  const std::string id = StartFull(RunPodIn("/kubepods.slice/kubepods-pod5.slice"));
  ExpectKept(absl::StrCat(slice, "/plimsoll-", id, ".scope"), Full());
}

TEST_F(SystemdTest, AnUpdateIsWhatIsKept) {
  const std::string slice = StartSlice("kubepods-pod6.slice");
  const std::string id = StartFull(RunPodIn("kubepods-pod6.slice"));
  const std::string unit = absl::StrCat("plimsoll-", id, ".scope");
  cri::LinuxContainerResources update;
  update.set_memory_limit_in_bytes(2 * kMemoryLimit);
  update.set_cpu_quota(20000);
  update.set_cpu_period(50000);
  update.set_cpu_shares(1024);
  update.set_cpuset_cpus("2-3");
  ASSERT_TRUE(TryUpdate(id, update).ok());
  EXPECT_EQ(Property(unit, "MemoryMax"), absl::StrCat(2 * kMemoryLimit));
  EXPECT_EQ(Property(unit, "CPUQuotaPerSecUSec"), "400ms");
  std::map<std::string, std::string> values = Full();
  values["memory.max"] = absl::StrCat(2 * kMemoryLimit);
  values["cpu.max"] = "20000 50000";
  values["cpu.weight"] = "39";
  values["cpuset.cpus"] = "2-3";
  ExpectKept(absl::StrCat(slice, "/", unit), values);
  // A value that the kernel refuses changes nothing, in the kernel or in systemd.
  cri::LinuxContainerResources wrong;
  wrong.set_memory_limit_in_bytes(3 * kMemoryLimit);
  (*wrong.mutable_unified())["memory.low"] = "much";
  EXPECT_FALSE(TryUpdate(id, wrong).ok());
  EXPECT_EQ(Property(unit, "MemoryMax"), absl::StrCat(2 * kMemoryLimit));
  ExpectKept(absl::StrCat(slice, "/", unit), values);
}

TEST_F(SystemdTest, ClassesOfContainersAndPodsAreKept) {
  const std::string slice = StartSlice("kubepods-pod7.slice");
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->set_cgroup_parent("kubepods-pod7.slice");
  (*config.mutable_class_resources()->mutable_class_())["pod-tier"] = "small";
  const std::string pod = RunPod(config);
  cri::ContainerConfig container = Shell("sleep 100000");
  (*container.mutable_class_resources()->mutable_classes())["tier"] = "background";
  const std::string id = Start(pod, container);
  const std::string scope = absl::StrCat(slice, "/plimsoll-", id, ".scope");
  EXPECT_EQ(Property("kubepods-pod7.slice", "MemoryHigh"), absl::StrCat(512 << 20));
  EXPECT_EQ(Property("kubepods-pod7.slice", "TasksMax"), "500");
  ExpectKept(slice, {{"memory.high", absl::StrCat(512 << 20)}, {"pids.max", "500"}});
  ExpectKept(scope, {{"memory.high", absl::StrCat(48 << 20)}, {"cpu.idle", "1"}});
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())["tier"] = "normal";
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  const grpc::Status changed =
      node_.runtime().UpdateContainerResources(&context, request, &response);
  ASSERT_TRUE(changed.ok()) << changed.error_message();
  ExpectKept(scope, {{"memory.high", "max"}, {"cpu.idle", "0"}});
}

// systemd writes a default weight with all of a unit's values, and BFQ then forgets those of disks.
TEST_F(SystemdTest, ADisksWeightAndRatesAreKept) {
  const std::string disk = ReadFile("/sys/block/vdb", "dev");
  ASSERT_THAT(ReadFile("/sys/block/vdb/queue", "scheduler"), HasSubstr("[bfq]"));
  const std::string slice = StartSlice("kubepods-podD.slice");
  cri::ContainerConfig config = Shell("sleep 100000");
  (*config.mutable_class_resources()->mutable_classes())["blockio"] = "heavy";
  const std::string id = Start(RunPodIn("kubepods-podD.slice"), config);
  const std::string unit = absl::StrCat("plimsoll-", id, ".scope");
  const std::map<std::string, std::string> values = {
      {"io.bfq.weight", absl::StrCat("default 100\n", disk, " 300")},
      {"io.max", absl::StrCat(disk, " rbps=1048576 wbps=max riops=max wiops=max")}};
  ExpectKept(absl::StrCat(slice, "/", unit), values);
  EXPECT_EQ(Property(unit, "IODeviceWeight"), absl::StrCat("/dev/block/", disk, " 2300"));
  // Without the daemon systemd keeps its properties.
  Run({"systemctl", "stop", "plimsolld"});
  Run({"systemctl", "daemon-reload"});
  for (const auto& [file, value] : values) {
    EXPECT_TRUE(Eventually([&] { return ReadFile(slice + "/" + unit, file) == value; })) << file;
  }
  Run({"systemctl", "start", "plimsolld"});
  AwaitDaemon();
}

TEST_F(SystemdTest, APodWithoutAParentHasASliceOfItsOwn) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_resources()->set_cpu_quota(kOddQuota);
  config.mutable_linux()->mutable_resources()->set_cpu_period(100000);
  const std::string pod = RunPod(config);
  const std::string id = StartFull(pod);
  const std::string slice = DirectoryOf(OwnSlice(pod));
  ExpectKept(slice, {{"cpu.max", absl::StrCat(kOddQuota, " 100000")}});
  ExpectKept(absl::StrCat(slice, "/plimsoll-", id, ".scope"), Full());
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  request.mutable_resources()->set_memory_limit_in_bytes(1 << 30);
  cri::UpdatePodSandboxResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdatePodSandboxResources(&context, request, &response).ok());
  EXPECT_EQ(Property(absl::StrCat("plimsoll-", pod, ".slice"), "MemoryMax"), absl::StrCat(1 << 30));
  ExpectKept(slice, {{"memory.max", absl::StrCat(1 << 30)},
                     {"cpu.max", absl::StrCat(kOddQuota, " 100000")}});
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_FALSE(Host().Exists(slice));
  ExpectNoUnits(pod);
  ExpectNoUnits(id);
}

TEST_F(SystemdTest, AContainersEndLeavesNoUnitAndItsLastValues) {
  const std::string pod = RunPodIn("kubepods-pod8.slice");  // which doesn't exist
  const std::string id = StartFull(pod);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  ExpectNoUnits(id);
  const cri::LinuxContainerResources last = Status(id).resources().linux();
  EXPECT_EQ(last.memory_limit_in_bytes(), kMemoryLimit);
  EXPECT_EQ(last.cpu_quota(), kOddQuota);
  EXPECT_TRUE(RemovePod(pod).ok());
  ExpectNoUnits("pod8");
  EXPECT_FALSE(Host().Exists("/sys/fs/cgroup/kubepods.slice/kubepods-pod8.slice"));
}

// systemd removes a container's group, with its OOM count, when its last process ends.
TEST_F(SystemdTest, OomKillsAreSeenThoughTheGroupGoesAtOnce) {
  const std::string pod = RunPodIn("kubepods-pod9.slice");
  const std::string other = StartFull(pod);
  for (int i = 0; i < 5; ++i) {
    cri::ContainerConfig hog = Shell("tail -c 1000000000 /dev/zero > /dev/null");
    hog.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 << 20);
    const cri::ContainerStatus status = AwaitExit(Start(pod, hog));
    EXPECT_EQ(status.reason(), "OOMKilled") << i;
    const cri::ContainerStatus quiet = AwaitExit(Start(pod, Shell("exit 3")));
    EXPECT_EQ(quiet.reason(), "Error") << i;
  }
  EXPECT_EQ(Status(other).state(), cri::CONTAINER_RUNNING);
}

TEST_F(SystemdTest, AnotherDaemonGoesOnWithTheUnits) {
  const std::string slice = StartSlice("kubepods-podA.slice");
  const std::string pod = RunPodIn("kubepods-podA.slice");
  const std::string id = StartFull(pod);
  const std::string scope = absl::StrCat(slice, "/plimsoll-", id, ".scope");
  Run({"systemctl", "stop", "plimsolld"});
  Run({"systemctl", "daemon-reload"});  // the rounded value isn't corrected
  Run({"systemctl", "start", "plimsolld"});
  AwaitDaemon();
  ExpectKept(scope, Full());
  cri::LinuxContainerResources update;
  update.set_memory_limit_in_bytes(2 * kMemoryLimit);
  ASSERT_TRUE(TryUpdate(id, update).ok());
  std::map<std::string, std::string> values = Full();
  values["memory.max"] = absl::StrCat(2 * kMemoryLimit);
  ExpectKept(scope, values);
  EXPECT_EQ(Property("plimsoll-monitors.scope", "ActiveState"), "active");
  EXPECT_TRUE(RemovePod(pod).ok());
  ExpectNoUnits(id);
}

// dbus-daemon is the only part that may be replaced on a running machine.
TEST_F(SystemdTest, ABusThatIsRestartedIsFoundAgain) {
  const std::string pod = RunPodIn("kubepods-podB.slice");
  StartFull(pod);
  Run({"systemctl", "restart", "dbus.service"});
  const std::string id = StartFull(pod);
  EXPECT_EQ(Property(absl::StrCat("plimsoll-", id, ".scope"), "MemoryMax"),
            absl::StrCat(kMemoryLimit));
}

TEST_F(SystemdTest, ASharedPidNamespaceIsHeldInAScope) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->set_cgroup_parent("kubepods-podC.slice");
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  const std::string pod = RunPod(config);
  EXPECT_EQ(Property(absl::StrCat("plimsoll-pause-", pod, ".scope"), "ActiveState"), "active");
  StartLimited(pod);
  EXPECT_TRUE(RemovePod(pod).ok());
  ExpectNoUnits(pod);
}

TEST_F(SystemdTest, ADaemonThatCannotHaveTheDriverSaysWhy) {
  Run({"systemctl", "stop", "plimsolld"});
  const auto ended = RunProgram(
      {.argv = {ProgramPath("plimsolld"), "--cgroup-driver=systemd", "--cgroup-parent=/a/b"}},
      {.timeout = Patience(absl::Seconds(60))});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_FALSE(ended->exit.success());
  EXPECT_THAT(ended->err, HasSubstr("cgroup_parent /a/b must be a slice"));
  Run({"systemctl", "start", "plimsolld"});
  AwaitDaemon();
}

// The group of an agent's pod: a slice by the agent, with scopes of containers by plimsolld.
TEST_F(SystemdTest, AnAgentsPodsHaveSlicesThatKeepTheirValues) {
  TestDir state;
  auto groups = agent::PodGroups::Open(
      Host(), state.root(),
      {.driver = agent::CgroupDriver::kSystemd,
       .root = "",
       .allocatable = {.cpu_milli = 4000, .memory_bytes = 1 << 30, .pids = 0, .hugepages = {}},
       .pod_pids_limit = 500});
  ASSERT_TRUE(groups.ok()) << groups.status();
  const std::string uid = "0f5e-1";
  agent::PodAmounts amounts{.qos = resources::QosClass::kBurstable, .cpu_request_milli = 512};
  amounts.settings.cpu_shares = 524;
  amounts.settings.cpu_quota_us = kOddQuota;
  amounts.settings.cpu_period_us = 100000;
  amounts.settings.memory_limit_bytes = 4 * kMemoryLimit;
  absl::Status status = (*groups)->Ensure(uid, amounts);
  ASSERT_TRUE(status.ok()) << status;
  const std::string kubepods = "/sys/fs/cgroup/kubepods.slice";
  ExpectKept(kubepods, {{"memory.max", absl::StrCat(1 << 30)}});
  const std::string burstable = kubepods + "/kubepods-burstable.slice";
  ExpectKept(burstable, {{"cpu.weight", "20"}});
  const std::string parent = (*groups)->CgroupParent(uid, amounts.qos);
  EXPECT_EQ(parent, "kubepods-burstable-pod0f5e_1.slice");
  const std::string slice = absl::StrCat(burstable, "/", parent);
  std::map<std::string, std::string> values = {{"memory.max", absl::StrCat(4 * kMemoryLimit)},
                                               {"cpu.max", absl::StrCat(kOddQuota, " 100000")},
                                               {"cpu.weight", "20"},
                                               {"pids.max", "500"}};
  ExpectKept(slice, values);

  const std::string pod = RunPodIn(parent);
  const std::string id = StartFull(pod);
  ExpectKept(absl::StrCat(slice, "/plimsoll-", id, ".scope"), Full());
  amounts.settings.memory_limit_bytes = 8 * kMemoryLimit;
  status = (*groups)->Update(uid, amounts, agent::PodGroups::Step::kRaise);
  ASSERT_TRUE(status.ok()) << status;
  values["memory.max"] = absl::StrCat(8 * kMemoryLimit);
  ExpectKept(slice, values);
  EXPECT_TRUE(absl::IsFailedPrecondition((*groups)->Remove(uid)));
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_TRUE(Host().Exists(slice)) << "plimsolld hasn't made it";
  status = (*groups)->Remove(uid);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(Host().Exists(slice));
  ExpectNoUnits("pod0f5e_1");
}

}  // namespace
}  // namespace plimsoll::testing
