// Adjustments by plugins of the Node Resource Interface, each seen in a real container.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/swap_loop_for_test.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "harness/cgroup_layout.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

napi::ContainerAdjustment Adjustment(const std::string& text) {
  napi::ContainerAdjustment adjustment;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &adjustment)) << text;
  return adjustment;
}

class NriAdjustTest : public NriTest {
 protected:
  NriAdjustTest() : NriTest("", "cdi_spec_dirs: [$FILES/cdi]\n") {}
  void SetUp() override {
    NriTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) Join(plugin_);
  }
  void TearDown() override {
    plugin_.Close();
    NriTest::TearDown();
  }

  // A container that the plugin adjusts so.
  std::string StartAdjusted(const std::string& text) { return StartAdjusted(text, "sleep 1000"); }
  std::string StartAdjusted(const std::string& text, const std::string& script) {
    return StartAdjusted(text, Shell(script));
  }
  std::string StartAdjusted(const std::string& text, const cri::ContainerConfig& config) {
    plugin_.Adjust(Adjustment(text));
    if (pod_.empty()) pod_ = RunPod();
    return Start(pod_, config);
  }
  grpc::Status Refusal(const std::string& text) {
    plugin_.Adjust(Adjustment(text));
    if (pod_.empty()) pod_ = RunPod();
    std::string id;
    return TryCreate(pod_, Shell("true"), &id);
  }
  linux::CgroupSettings GroupOf(const std::string& container) {
    return *Cgroups().Read(CgroupOf(pod_, container));
  }
  // The pid of the container's first process, as the plugin has it.
  pid_t PidOf(const std::string& container) {
    EXPECT_TRUE(plugin_.Await("PostStartContainer"));
    const SeenCall started = plugin_.Last("PostStartContainer");
    EXPECT_EQ(started.container.id(), container);
    return static_cast<pid_t>(started.container.pid());
  }
  std::string ChangedBy(const std::string& container) {
    cri::ContainerStatusRequest request;
    request.set_container_id(container);
    request.set_verbose(true);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
    return response.info().at("info");
  }

  TestPlugin plugin_{"10", "adjuster"};
  std::string pod_;
};

TEST_F(NriAdjustTest, Environment) {
  cri::ContainerConfig config = Shell("sleep 1000");
  for (const auto& [key, value] : {std::pair("KEPT", "1"), {"CHANGED", "1"}, {"GONE", "1"}}) {
    cri::KeyValue* variable = config.add_envs();
    variable->set_key(key);
    variable->set_value(value);
  }
  const std::string id = StartAdjusted(R"(env { key: "ADDED" value: "2" }
                                         env { key: "CHANGED" value: "2" }
                                         env { key: "-GONE" })",
                                       config);
  EXPECT_EQ(ExecOutput(id, "echo $KEPT $CHANGED $ADDED ${GONE-none}"), "1 2 2 none\n");
  EXPECT_THAT(ChangedBy(id), AllOf(HasSubstr("10-adjuster"), HasSubstr("ADDED")));
}

TEST_F(NriAdjustTest, Arguments) {
  const std::string id =
      StartAdjusted(R"(args: ["", "/bin/sh", "-c", "echo by plugin; sleep 1000"])", "echo mine");
  EXPECT_TRUE(Eventually([&] { return Output(id) == "by plugin\n"; })) << Output(id);
}

TEST_F(NriAdjustTest, Annotations) {
  const std::string id = StartAdjusted(R"(annotations { key: "example.com/set" value: "yes" })");
  EXPECT_EQ(plugin_.Last("StartContainer").container.annotations().at("example.com/set"), "yes");
  // An OCI hook's view.
  EXPECT_THAT(Host()
                  .Read(absl::StrCat(node_.run_directory().substr(1), "/oci/containers/", id,
                                     "/config.json"))
                  .value_or(""),
              HasSubstr("example.com/set"));
}

TEST_F(NriAdjustTest, Mounts) {
  ASSERT_TRUE(nri_files_.root().ReplaceFile("given", "by plugin\n", 0644).ok());
  cri::ContainerConfig config = Shell("sleep 1000");
  for (const char* path : {"/mine", "/gone"}) {
    cri::Mount* mount = config.add_mounts();
    mount->set_container_path(path);
    mount->set_host_path(nri_files_.path());
  }
  const std::string id = StartAdjusted(
      absl::StrCat(R"(mounts { destination: "/given" type: "bind" source: ")", nri_files_.path(),
                   R"(/given" options: ["rbind", "ro", "rprivate"] }
                   mounts { destination: "/scratch" type: "tmpfs" source: "tmpfs"
                            options: ["size=64k", "nosuid"] }
                   mounts { destination: "-/gone" })"),
      config);
  EXPECT_EQ(ExecOutput(id,
                       "cat /given; test -e /mine/given && echo kept; "
                       "test -e /gone/given || echo gone; "
                       "touch /given 2> /dev/null || echo read-only; "
                       "grep -c ' /scratch tmpfs .*size=64k' /proc/mounts"),
            "by plugin\nkept\ngone\nread-only\n1\n");
}

TEST_F(NriAdjustTest, Rlimits) {
  const std::string id = StartAdjusted(R"(rlimits { type: "RLIMIT_NOFILE" hard: 333 soft: 222 })",
                                       "ulimit -Sn; ulimit -Hn; sleep 1000");
  EXPECT_TRUE(Eventually([&] { return Output(id) == "222\n333\n"; })) << Output(id);
}

TEST_F(NriAdjustTest, Devices) {
  const std::string id = StartAdjusted(R"(linux { devices { path: "/dev/given" type: "c" major: 1
                                          minor: 5 file_mode { value: 438 } } })");
  EXPECT_EQ(ExecOutput(id, "head -c 3 /dev/given | wc -c; stat -c %a /dev/given"), "3\n666\n");
}

TEST_F(NriAdjustTest, CdiDevices) {
  ASSERT_TRUE(nri_files_.root().MakeDirs("cdi", 0755).ok());
  ASSERT_TRUE(nri_files_.root()
                  .ReplaceFile("cdi/card.json", R"({"cdiVersion": "0.7.0",
      "kind": "plimsoll-test.com/card", "devices": [{"name": "0", "containerEdits": {
      "env": ["CARD=0"], "deviceNodes": [{"path": "/dev/card", "hostPath": "/dev/zero"}]}}]})",
                               0644)
                  .ok());
  const std::string id = StartAdjusted(R"(CDI_devices { name: "plimsoll-test.com/card=0" })");
  EXPECT_EQ(ExecOutput(id, "echo $CARD; head -c 2 /dev/card | wc -c"), "0\n2\n");
}

// A source that is looked at twice is a directory at one look and a file at the next, and no mount.
TEST_F(NriAdjustTest, TheSourceOfAMountIsOpenedOnce) {
  const std::string volume = nri_files_.path() + "/volume";
  ASSERT_TRUE(nri_files_.root().MakeDirs("cdi", 0755).ok());
  ASSERT_TRUE(nri_files_.root().MakeDirs("volume/d", 0755).ok());
  ASSERT_TRUE(nri_files_.root().ReplaceFile("volume/f", "", 0644).ok());
  ASSERT_TRUE(
      nri_files_.root()
          .ReplaceFile("cdi/volume.json",
                       absl::StrCat(R"({"cdiVersion": "0.7.0", "kind": "plimsoll-test.com/volume",
      "devices": [{"name": "0", "containerEdits": {"mounts": [{"hostPath": ")",
                                    volume, R"(/d", "containerPath": "/device"}]}}]})"),
                       0644)
          .ok());
  const std::string adjustment =
      absl::StrCat(R"(mounts { destination: "/given" type: "bind" options: ["rbind"] source: ")",
                   volume, R"(/d" } CDI_devices { name: "plimsoll-test.com/volume=0" })");
  const SwapLoopForTest swaps(volume, "d", "f");
  const absl::Time end = absl::Now() + absl::Seconds(4);
  while (absl::Now() < end && !HasFailure()) {
    const std::string id = StartAdjusted(adjustment, "test -e /given && test -e /device");
    EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  }
}

TEST_F(NriAdjustTest, HooksRun) {
  ASSERT_TRUE(nri_files_.root()
                  .ReplaceFile("hook",
                               absl::StrCat("#!/bin/sh\ncat > /dev/null\necho $1 $WORD >> ",
                                            nri_files_.path(), "/hooked\n"),
                               0755)
                  .ok());
  std::string text = "hooks {";
  for (const char* stage : {"create_runtime", "poststart", "poststop"}) {
    absl::StrAppend(&text, stage, " { path: \"", nri_files_.path(), "/hook\" args: [\"hook\", \"",
                    stage, "\"] env: \"WORD=said\" timeout { value: 30 } }\n");
  }
  const std::string id = StartAdjusted(text + "}");
  const auto hooked = [&] { return nri_files_.root().Read("hooked").value_or(""); };
  EXPECT_TRUE(Eventually([&] { return hooked() == "create_runtime said\npoststart said\n"; }))
      << hooked();
  ASSERT_TRUE(StopContainer(id, 0).ok());
  ASSERT_TRUE(RemoveContainer(id).ok());
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(hooked(), "poststop said"); })) << hooked();
}

TEST_F(NriAdjustTest, MemoryAndCpu) {
  const std::string id = StartAdjusted(R"(linux { resources {
      memory { limit { value: 67108864 } }
      cpu { shares { value: 512 } quota { value: 50000 } period { value: 100000 } cpus: "0" }
      pids { limit: 77 } } })");
  const linux::CgroupSettings group = GroupOf(id);
  EXPECT_EQ(group.memory_limit_bytes, 67108864);
  EXPECT_EQ(group.cpu_quota_us, 50000);
  EXPECT_EQ(group.cpuset_cpus, "0");
  EXPECT_EQ(group.pids_limit, 77);
  EXPECT_THAT(*group.cpu_shares, AllOf(::testing::Gt(400u), ::testing::Le(512u)));
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2"), "0\n");
  // The values are the container's own from now on.
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 67108864);
}

TEST_F(NriAdjustTest, AnyFileOfTheGroup) {
  if (!IsV2()) GTEST_SKIP() << "needs cgroup v2";
  const std::string id =
      StartAdjusted(R"(linux { resources { unified { key: "memory.high" value: "33554432" } } })");
  EXPECT_EQ(*Cgroups().ReadFile(CgroupOf(pod_, id), "memory", "memory.high"), "33554432");
}

TEST_F(NriAdjustTest, ScoreOfTheOomKiller) {
  const std::string id = StartAdjusted("linux { oom_score_adj { value: 555 } }");
  EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), "555\n");
}

TEST_F(NriAdjustTest, PriorityOfInputAndOutput) {
  const std::string id =
      StartAdjusted("linux { io_priority { class: IOPRIO_CLASS_BE priority: 6 } }");
  // ioprio_get(2): the class from bit 13 on, and the level.
  EXPECT_EQ(syscall(SYS_ioprio_get, 1, PidOf(id)), (2 << 13) | 6);
}

TEST_F(NriAdjustTest, Scheduler) {
  const std::string id = StartAdjusted("linux { scheduler { policy: LINUX_SCHED_BATCH nice: 5 } }");
  const pid_t pid = PidOf(id);
  EXPECT_EQ(sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK, SCHED_BATCH);
}

TEST_F(NriAdjustTest, MemoryPolicy) {
  const std::string id =
      StartAdjusted(R"(linux { memory_policy { mode: LINUX_MPOL_BIND nodes: "0" } })");
  EXPECT_THAT(Host().Read(absl::StrCat("proc/", PidOf(id), "/numa_maps")).value_or(""),
              ::testing::ContainsRegex(" bind(=static)?:0 "));
}

TEST_F(NriAdjustTest, SeccompPolicy) {
  const std::string id = StartAdjusted(R"(linux { seccomp_policy {
      default_action: "SCMP_ACT_ALLOW"
      syscalls { names: ["mkdir", "mkdirat"] action: "SCMP_ACT_ERRNO" errno_ret { value: 28 } }
      } })",
                                       "mkdir /tmp/x || touch /ok; sleep 1000");
  EXPECT_TRUE(Eventually([&] {
    cri::ExecSyncResponse response;
    return Exec(id, {"test", "-e", "/ok"}, &response).ok() && response.exit_code() == 0;
  }));
  // ENOSPC: 28. The log is written by another process.
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(id), "No space left"); }))
      << Output(id);
}

TEST_F(NriAdjustTest, Namespaces) {
  const std::string usual = StartAdjusted("");
  const std::string other = StartAdjusted(R"(linux { namespaces { type: "ipc" } })");
  const char kIpc[] = "readlink /proc/1/ns/ipc";
  const char kNet[] = "readlink /proc/1/ns/net";
  EXPECT_NE(ExecOutput(usual, kIpc), ExecOutput(other, kIpc));
  EXPECT_EQ(ExecOutput(usual, kNet), ExecOutput(other, kNet));
}

TEST_F(NriAdjustTest, Sysctls) {
  const std::string id = StartAdjusted(
      R"(linux { sysctl { key: "net.ipv4.ip_unprivileged_port_start" value: "99" } })");
  EXPECT_EQ(ExecOutput(id, "cat /proc/sys/net/ipv4/ip_unprivileged_port_start"), "99\n");
}

TEST_F(NriAdjustTest, SeveralPluginsChangeOneContainer) {
  TestPlugin second("20", "second");
  second.Adjust(Adjustment(R"(env { key: "TWO" value: "2" }
                              linux { resources { pids { limit: 66 } } })"));
  Join(second);
  const std::string id =
      StartAdjusted(R"(env { key: "ONE" value: "1" } linux { oom_score_adj { value: 444 } })");
  EXPECT_EQ(ExecOutput(id, "echo $ONE$TWO; cat /proc/1/oom_score_adj"), "12\n444\n");
  EXPECT_EQ(GroupOf(id).pids_limit, 66);
  EXPECT_THAT(ChangedBy(id), AllOf(HasSubstr("10-adjuster"), HasSubstr("20-second")));
}

// Each is refused, not dropped, and the refusal names plugin and field.
TEST_F(NriAdjustTest, WhatCannotBeIsRefusedByName) {
  const struct {
    const char* text;
    const char* field;
  } kRefused[] = {
      {R"(env { key: "" value: "1" })", "env"},
      {R"(mounts { destination: "relative" type: "bind" source: "/tmp" })", "mounts"},
      {R"(mounts { destination: "/x" type: "bind" source: "/none/such" })", "/none/such"},
      {R"(rlimits { type: "RLIMIT_NONE" })", "rlimits"},
      {R"(CDI_devices { name: "no device" })", "CDI_devices"},
      {R"(CDI_devices { name: "example.com/none=0" })", "example.com/none"},
      {R"(linux { devices { path: "/dev/x" type: "z" } })", "linux.devices"},
      {R"(linux { resources { cpu { shares { value: 1 } } } })", "linux.resources.cpu.shares"},
      {R"(linux { resources { cpu { cpus: "9999" } } })", "linux.resources.cpu.cpus"},
      {R"(linux { resources { unified { key: "cgroup.procs" value: "1" } } })",
       "linux.resources.unified"},
      {R"(linux { resources { rdt_class { value: "none-such" } } })", "rdt"},
      {R"(linux { oom_score_adj { value: 1001 } })", "linux.oom_score_adj"},
      {R"(linux { sysctl { key: "kernel.panic" value: "1" } })", "kernel.panic"},
      {R"(linux { namespaces { type: "none" } })", "linux.namespaces"},
      {R"(linux { net_devices { key: "none-such0" value { name: "eth5" } } })", "none-such0"},
      {R"(linux { io_priority { class: IOPRIO_CLASS_BE priority: 9 } })", "linux.io_priority"},
  };
  for (const auto& [text, field] : kRefused) {
    const grpc::Status refused = Refusal(text);
    EXPECT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error_code(), grpc::INTERNAL) << text << ": " << refused.error_message();
    EXPECT_THAT(refused.error_message(), HasSubstr("10-adjuster")) << text;
    EXPECT_THAT(refused.error_message(), HasSubstr(field)) << text;
  }
  plugin_.Adjust({});
  EXPECT_FALSE(Start(pod_, Shell("sleep 1000")).empty());
}

// The system keeps the first CPU, pods have the others.
class NriPartitionTest : public NriTest {
 protected:
  NriPartitionTest()
      : NriTest("", absl::StrCat("nodeResources:\n  cpus: {reserved: \"", UsableCpus().front(),
                                 "\"}\n")) {}
  void SetUp() override {
    if (UsableCpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
    NriTest::SetUp();
  }
};

// A plugin's cpuset counts as the container's own.
TEST_F(NriPartitionTest, APluginsCpusetObeysThePartition) {
  const std::string pod = RunPod();
  const auto try_client = [&](int cpu, std::string* id) {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus(absl::StrCat(cpu));
    return TryCreate(pod, config, id);
  };
  std::string id;
  const grpc::Status as_client = try_client(UsableCpus().front(), &id);
  TestPlugin plugin("10", "pinner");
  Join(plugin);
  const auto pin_to = [&](int cpu) {
    plugin.Adjust(Adjustment(absl::StrCat("linux { resources { cpu { cpus: \"", cpu, "\" } } }")));
  };
  pin_to(UsableCpus().front());
  const grpc::Status as_plugin = TryCreate(pod, Shell("sleep 1000"), &id);
  EXPECT_EQ(as_plugin.error_code(), as_client.error_code()) << as_plugin.error_message();
  pin_to(UsableCpus().back());
  const std::string pinned = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(pinned, "grep Cpus_allowed_list /proc/1/status | cut -f2"),
            absl::StrCat(UsableCpus().back(), "\n"));
}

}  // namespace
}  // namespace plimsoll::testing
