// Plugins' settings in the OCI spec, and refused ones.
#include "runtime/oci/spec_extras.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SpecExtrasTest : public SpecBuilderFixture {
 protected:
  OciExtras& extras() { return spec_.extras; }
  // The machine's files are those in dir_.
  void UseFiles() {
    files_ = dir_.root();
    input_.host = &*files_;
  }
  void AddFile(const std::string& path, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text).ok());
  }
  std::string Refusal(absl::StatusCode code) {
    const auto built = TryBuild();
    EXPECT_EQ(built.status().code(), code) << built.status();
    return std::string(built.status().message());
  }
  std::string Mistake() { return Refusal(absl::StatusCode::kInvalidArgument); }
  std::string Impossible() { return Refusal(absl::StatusCode::kFailedPrecondition); }
  std::string Unimplemented() { return Refusal(absl::StatusCode::kUnimplemented); }

  TestDir dir_;
  std::optional<FsRoot> files_;
};

TEST_F(SpecExtrasTest, UnsetTakesVariablesOfImageAndDefaults) {
  image_.environment = {"A=image", "B=image", "AB=image"};
  spec_.environment = {{"B", "pod"}};
  extras().unset_environment = {"A", "B", "HOME", "NONE"};
  EXPECT_THAT(Build()["process"]["env"].get<std::vector<std::string>>(),
              ElementsAre(HasSubstr("PATH="), "AB=image", "B=pod"));
}

// --- edits

TEST_F(SpecExtrasTest, EditsComeOverThoseOfCdiDevices) {
  UseFiles();
  ASSERT_TRUE(dir_.root().MakeDirs("data").ok());
  spec_.mounts = {{.container_path = "/a", .host_path = "/data"}};
  request_.edits.mounts = {{.host_path = "/data", .container_path = "/b", .options = {"ro"}}};
  extras().edits.mounts = {
      {.host_path = "tmpfs", .container_path = "/a", .type = "tmpfs", .options = {"size=1m"}},
      {.host_path = "tmpfs", .container_path = "/b/", .type = "tmpfs"},
      {.host_path = "/data", .container_path = "/dev/shm", .options = {"rbind", "rw"}}};
  const Json config = Build();
  EXPECT_EQ(MountAt(config, "/a"),
            Json::parse(R"({"destination": "/a", "type": "tmpfs", "source": "tmpfs",
                            "options": ["size=1m"]})"));
  EXPECT_EQ(MountAt(config, "/b")["type"], "tmpfs");
  EXPECT_EQ(MountAt(config, "/dev/shm")["source"], "/stage/volumes/edit2");
  std::vector<std::string> destinations;
  for (const Json& mount : config["mounts"]) destinations.push_back(mount["destination"]);
  EXPECT_EQ(std::set<std::string>(destinations.begin(), destinations.end()).size(),
            destinations.size());
}

TEST_F(SpecExtrasTest, ADeviceNodeNeedsNoFileOfTheHost) {
  UseFiles();
  input_.user.uid = 33;
  extras().edits.device_nodes = {{.path = "/dev/made",
                                  .type = "c",
                                  .major = 10,
                                  .minor = 229,
                                  .file_mode = 0640,
                                  .permissions = "rw",
                                  .gid = 7}};
  const Json part = Build()["linux"];
  EXPECT_THAT(part["devices"], Contains(Json::parse(R"({"path": "/dev/made", "type": "c",
      "major": 10, "minor": 229, "fileMode": 416, "gid": 7})")));
  EXPECT_THAT(part["resources"]["devices"], Contains(Json::parse(R"({"allow": true, "type": "c",
      "major": 10, "minor": 229, "access": "rw"})")));
}

TEST_F(SpecExtrasTest, WhatEditsNeedMustBeThere) {
  UseFiles();
  extras().edits.device_nodes = {{.path = "/dev/none"}};
  EXPECT_THAT(Impossible(), HasSubstr("device node of a plugin /dev/none"));
  extras().edits.device_nodes.clear();
  extras().edits.mounts = {{.host_path = "/none", .container_path = "/a"}};
  EXPECT_THAT(Impossible(), HasSubstr("mount /none of a plugin"));
}

TEST_F(SpecExtrasTest, HooksOfAllStages) {
  for (const char* stage : {"prestart", "createRuntime", "createContainer", "startContainer"}) {
    extras().edits.hooks.push_back({.name = stage, .path = "/bin/hook"});
  }
  EXPECT_FALSE(TryBuild()->late_hooks.any());
  extras().edits.hooks.push_back({.name = "poststart",
                                  .path = "/bin/hook",
                                  .args = {"hook", "x"},
                                  .env = {"A=1"},
                                  .timeout_seconds = 3});
  EXPECT_TRUE(TryBuild()->late_hooks.poststart);
  request_.edits.hooks = {{.name = "poststop", .path = "/bin/cdi"}};
  EXPECT_TRUE(TryBuild()->late_hooks.poststop);
  const Json hooks = Build()["hooks"];
  EXPECT_EQ(hooks.size(), 6u);
  EXPECT_EQ(hooks["poststart"], Json::parse(R"([{"path": "/bin/hook", "args": ["hook", "x"],
      "env": ["A=1"], "timeout": 3}])"));
}

TEST_F(SpecExtrasTest, HooksThatNoRuntimeRuns) {
  extras().edits.hooks = {{.name = "preStop", .path = "/bin/hook"}};
  EXPECT_THAT(Mistake(), HasSubstr("is for \"preStop\""));
  extras().edits.hooks = {{.name = "prestart", .path = "hook"}};
  EXPECT_THAT(Mistake(), HasSubstr("must be absolute"));
}

// --- rlimits

TEST_F(SpecExtrasTest, RlimitsWinOverTheDescriptorLimit) {
  input_.descriptor_limit = {.soft = 100, .hard = 200};
  extras().rlimits = {{"RLIMIT_CORE", 0, 0}};
  EXPECT_EQ(Build()["process"]["rlimits"],
            Json::parse(R"([{"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
                            {"type": "RLIMIT_NOFILE", "soft": 100, "hard": 200}])"));
  extras().rlimits = {{"RLIMIT_NOFILE", 50, 60}};
  EXPECT_EQ(Build()["process"]["rlimits"],
            Json::parse(R"([{"type": "RLIMIT_NOFILE", "soft": 50, "hard": 60}])"));
}

TEST_F(SpecExtrasTest, RlimitsThatCannotBe) {
  extras().rlimits = {{"NOFILE", 1, 1}};
  EXPECT_THAT(Mistake(), HasSubstr("rlimits: type \"NOFILE\" is none of RLIMIT_AS"));
  extras().rlimits = {{"RLIMIT_CORE", 2, 1}};
  EXPECT_THAT(Mistake(), HasSubstr("soft must be at most hard"));
  extras().rlimits = {{"RLIMIT_CORE", 1, 1}, {"RLIMIT_CORE", 2, 2}};
  EXPECT_THAT(Mistake(), HasSubstr("RLIMIT_CORE is there twice"));
}

TEST_F(SpecExtrasTest, RlimitsAboveWhatThisProcessMayGive) {
  UseFiles();
  AddFile("proc/sys/fs/nr_open", "1000\n");
  extras().rlimits = {{"RLIMIT_NOFILE", 1, 1001}};
  EXPECT_THAT(Impossible(), HasSubstr("the highest that a container can get here is 1000"));
  extras().rlimits = {{"RLIMIT_MEMLOCK", RLIM_INFINITY, RLIM_INFINITY}};
  EXPECT_TRUE(TryBuild().ok());
  machine_.capabilities &= ~(CapabilityMask{1} << CAP_SYS_RESOURCE);
  rlimit own = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  extras().rlimits = {{"RLIMIT_NOFILE", 1, own.rlim_max}};
  EXPECT_TRUE(TryBuild().ok());
  extras().rlimits = {{"RLIMIT_NOFILE", 1, own.rlim_max + 1}};
  EXPECT_THAT(Impossible(), HasSubstr("rlimits: RLIMIT_NOFILE of 1 (soft)"));
}

// --- namespaces

TEST_F(SpecExtrasTest, NamespacesTakeThePlaceOfTheirType) {
  request_.sandbox.network_namespace = "/run/net";
  extras().namespaces = {{"network", "/elsewhere"}, {"uts", ""}, {"mount", ""}, {"pid", "/p"}};
  const Json namespaces = Build()["linux"]["namespaces"];
  EXPECT_EQ(namespaces, Json::parse(R"([{"type": "mount"},
      {"type": "network", "path": "/elsewhere"}, {"type": "pid", "path": "/p"},
      {"type": "uts"}])"));
}

TEST_F(SpecExtrasTest, AnIpcNamespaceOfItsOwnHasItsOwnSharedMemory) {
  request_.sandbox.ipc_namespace = "/run/ipc";
  request_.sandbox.shm_directory = "/run/shm";
  EXPECT_EQ(MountAt(Build(), "/dev/shm")["source"], "/run/shm");
  extras().namespaces = {{"ipc", ""}};
  EXPECT_EQ(MountAt(Build(), "/dev/shm")["type"], "tmpfs");
}

TEST_F(SpecExtrasTest, TheHostsNamespacesHaveNoEntry) {
  request_.sandbox.ipc_namespace = "/run/ipc";
  request_.sandbox.shm_directory = "/run/shm";
  request_.sandbox.uts_namespace = "/run/uts";
  extras().namespaces = {{.type = "ipc", .of_host = true},
                         {.type = "uts", .of_host = true},
                         {.type = "pid", .of_host = true},
                         {.type = "network", .of_host = true}};  // it has none anyway
  spec_.security.namespaces.pid = NamespaceMode::kContainer;
  const Json config = Build();
  EXPECT_EQ(config["linux"]["namespaces"], Json::parse(R"([{"type": "mount"}])"));
  EXPECT_EQ(MountAt(config, "/dev/shm")["source"], "/dev/shm");
}

TEST_F(SpecExtrasTest, NamespacesThatCannotBe) {
  extras().namespaces = {{"user", "/run/user"}};
  EXPECT_THAT(Unimplemented(), HasSubstr("linux.namespaces: type \"user\""));
  extras().namespaces = {{"mount", "/proc/1/ns/mnt"}};
  EXPECT_THAT(Unimplemented(), HasSubstr("mount namespace of its own"));
  extras().namespaces = {{.type = "mount", .of_host = true}};
  EXPECT_THAT(Unimplemented(), HasSubstr("mount namespace of its own"));
  extras().namespaces = {{"time", ""}};
  EXPECT_THAT(Unimplemented(), HasSubstr("type \"time\""));
  extras().namespaces = {{"net", ""}};
  EXPECT_THAT(Mistake(), HasSubstr("type \"net\" is none of network"));
  extras().namespaces = {{"ipc", "relative"}};
  EXPECT_THAT(Mistake(), HasSubstr("must be absolute"));
  extras().namespaces = {{"ipc", ""}, {"ipc", "/x"}};
  EXPECT_THAT(Mistake(), HasSubstr("type \"ipc\" is there twice"));
}

// --- resources

TEST_F(SpecExtrasTest, MemoryAndRealtimeOfVersion1) {
  UseFiles();
  for (const char* file : {"memory/memory.soft_limit_in_bytes", "memory/memory.swappiness",
                           "memory/memory.oom_control", "memory/memory.kmem.tcp.limit_in_bytes",
                           "cpu/cpu.rt_period_us", "cpu/cpu.rt_runtime_us"}) {
    AddFile(std::string("sys/fs/cgroup/") + file, "0\n");
  }
  spec_.resources.memory_limit_bytes = 5;
  extras().memory = {.reservation_bytes = 1,
                     .kernel_tcp_bytes = 2,
                     .swappiness = 3,
                     .disable_oom_killer = true,
                     .use_hierarchy = true};
  extras().realtime = {.runtime_us = 4, .period_us = 6};
  const Json resources = Build()["linux"]["resources"];
  EXPECT_EQ(resources["memory"], Json::parse(R"({"limit": 5, "reservation": 1, "kernelTCP": 2,
      "swappiness": 3, "disableOOMKiller": true})"));
  EXPECT_EQ(resources["cpu"], Json::parse(R"({"realtimeRuntime": 4, "realtimePeriod": 6})"));
  machine_.controllers = {"cpu"};
  EXPECT_THAT(Impossible(), HasSubstr("no controller memory"));
}

TEST_F(SpecExtrasTest, MemoryAndRealtimeOfVersion2) {
  machine_.layout = linux::CgroupLayout::kV2;
  extras().memory = {.reservation_bytes = 1, .disable_oom_killer = false, .use_hierarchy = true};
  EXPECT_EQ(Build()["linux"]["resources"]["memory"], Json::parse(R"({"reservation": 1})"));
  const auto refusal = [&](const MoreMemory& memory, const RealtimeCpu& realtime) {
    extras().memory = memory;
    extras().realtime = realtime;
    return Impossible();
  };
  EXPECT_THAT(refusal({.swappiness = 1}, {}), HasSubstr("linux.resources.memory.swappiness: "));
  EXPECT_THAT(refusal({.kernel_tcp_bytes = 1}, {}), HasSubstr("memory.kernel_tcp: "));
  EXPECT_THAT(refusal({.disable_oom_killer = true}, {}), HasSubstr("memory.disable_oom_killer: "));
  EXPECT_THAT(refusal({.use_hierarchy = false}, {}), HasSubstr("memory.use_hierarchy is false"));
  EXPECT_THAT(refusal({}, {.runtime_us = 1}), HasSubstr("cpu.realtime_runtime: "));
  EXPECT_THAT(refusal({}, {.period_us = 1}), HasSubstr("cpu.realtime_period: "));
}

TEST_F(SpecExtrasTest, ResourcesThatNoMachineHas) {
  UseFiles();
  extras().memory = {.kernel_bytes = 1 << 20};
  EXPECT_THAT(Unimplemented(), HasSubstr("linux.resources.memory.kernel: "));
  extras().memory = {.swappiness = 201};
  EXPECT_THAT(Mistake(), HasSubstr("must be 0 to 200"));
  extras().memory = {.reservation_bytes = -2};
  EXPECT_THAT(Mistake(), HasSubstr("linux.resources.memory.reservation is -2"));
  extras().memory = {.swappiness = 1};
  EXPECT_THAT(Impossible(), HasSubstr("this kernel has no memory.swappiness"));
}

// --- settings that are made later

TEST_F(SpecExtrasTest, MistakesAreFoundBeforeTheContainerIsMade) {
  extras().io_priority = {"IOPRIO_CLASS_BE", 8};
  EXPECT_THAT(Mistake(), HasSubstr("linux.io_priority: priority 8"));
  extras().io_priority.reset();
  extras().scheduler = Scheduler{.policy = "SCHED_FIFO"};
  EXPECT_THAT(Mistake(), HasSubstr("linux.scheduler: priority is 0"));
  extras().scheduler = Scheduler{.policy = "SCHED_ISO"};
  EXPECT_THAT(Unimplemented(), HasSubstr("linux.scheduler: policy SCHED_ISO"));
  extras().scheduler.reset();
  extras().sysctls = {{"vm.swappiness", "1"}};
  EXPECT_THAT(Mistake(), HasSubstr("linux.sysctl: sysctl vm.swappiness"));
  extras().sysctls.clear();
  extras().net_devices = {{"eth0", "a/b"}};
  EXPECT_THAT(Mistake(), HasSubstr("linux.net_devices: \"a/b\""));
}

TEST_F(SpecExtrasTest, MemoryPolicyIsForTheLauncher) {
  UseFiles();
  AddFile("sys/devices/system/node/has_memory", "0-1\n");
  EXPECT_EQ(TryBuild()->memory_policy, "");
  extras().memory_policy = MemoryPolicy{.mode = "MPOL_BIND", .nodes = "1"};
  EXPECT_THAT(TryBuild()->memory_policy, HasSubstr(":2"));
  extras().memory_policy->nodes = "2";
  EXPECT_THAT(Impossible(), HasSubstr("linux.memory_policy: this machine has no node 2"));
}

}  // namespace
}  // namespace plimsoll::runtime
