// Adjustments as the engine gets them. Refused values: refused_values_test.cc.
#include "nri/adjust/to_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

runtime::ContainerSpec Good(const std::string& adjust, const runtime::ContainerSpec& asked = {}) {
  const auto spec = SpecAfter(adjust, asked);
  EXPECT_TRUE(spec.ok()) << adjust << ": " << spec.status();
  return spec.value_or(runtime::ContainerSpec());
}

TEST(ToSpecTest, Environment) {
  runtime::ContainerSpec asked;
  asked.environment = {{"A", "1"}, {"B", "2"}, {"C", "3"}};
  const auto spec = Good(R"(env { key: "B" value: "x=y" } env { key: "-C" } env { key: "-PATH" }
                            env { key: "D" })",
                         asked);
  EXPECT_THAT(spec.environment, ElementsAre(Pair("A", "1"), Pair("B", "x=y"), Pair("D", "")));
  EXPECT_THAT(spec.extras.unset_environment, ElementsAre("C", "PATH"));
}

TEST(ToSpecTest, Arguments) {
  runtime::ContainerSpec asked;
  asked.command = {"entry"};
  asked.args = {"-v"};
  EXPECT_EQ(Good("", asked).command, asked.command);
  const auto spec = Good(R"(args: "wrap" args: "entry" args: "-v")", asked);
  EXPECT_THAT(spec.command, ElementsAre("wrap", "entry", "-v"));
  EXPECT_THAT(spec.args, IsEmpty());
}

TEST(ToSpecTest, Annotations) {
  runtime::ContainerSpec asked;
  asked.annotations = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  const auto spec = Good(R"(annotations { key: "a" value: "x" } annotations { key: "-b" }
                            annotations { key: "-z" } annotations { key: "d" value: "y" })",
                         asked);
  EXPECT_THAT(spec.annotations, ElementsAre(Pair("a", "x"), Pair("c", "3"), Pair("d", "y")));
}

TEST(ToSpecTest, Hooks) {
  const auto spec = Good(R"(hooks { start_container { path: "/h" args: "h" args: "-x" env: "A=b"
                                                      timeout { value: 2 } } })");
  ASSERT_EQ(spec.extras.edits.hooks.size(), 1u);
  EXPECT_EQ(spec.extras.edits.hooks[0], (cdi::Hook{.name = "startContainer",
                                                   .path = "/h",
                                                   .args = {"h", "-x"},
                                                   .env = {"A=b"},
                                                   .timeout_seconds = 2}));
}

TEST(ToSpecTest, HooksOfEachStageHaveTheSpecificationsName) {
  const std::map<std::string, std::string> stages = {{"prestart", "prestart"},
                                                     {"create_runtime", "createRuntime"},
                                                     {"create_container", "createContainer"},
                                                     {"start_container", "startContainer"},
                                                     {"poststart", "poststart"},
                                                     {"poststop", "poststop"}};
  for (const auto& [member, name] : stages) {
    const auto spec = Good("hooks { " + member + " { path: \"/h\" } }");
    ASSERT_EQ(spec.extras.edits.hooks.size(), 1u) << member;
    EXPECT_EQ(spec.extras.edits.hooks[0].name, name);
    EXPECT_FALSE(spec.extras.edits.hooks[0].timeout_seconds.has_value());
  }
}

TEST(ToSpecTest, Rlimits) {
  const auto spec = Good(R"(rlimits { type: "RLIMIT_NOFILE" hard: 20 soft: 10 }
                            rlimits { type: "RLIMIT_CORE" hard: 18446744073709551615 })");
  EXPECT_THAT(spec.extras.rlimits,
              ElementsAre(runtime::Rlimit{"RLIMIT_NOFILE", 10, 20},
                          runtime::Rlimit{"RLIMIT_CORE", 0, 18446744073709551615u}));
}

TEST(ToSpecTest, CdiDevices) {
  runtime::ContainerSpec asked;
  asked.cdi_devices = {"vendor.com/gpu=0"};
  const auto spec = Good(R"(CDI_devices { name: "vendor.com/gpu=0" }
                            CDI_devices { name: "vendor.com/gpu=1" })",
                         asked);
  EXPECT_THAT(spec.cdi_devices, ElementsAre("vendor.com/gpu=0", "vendor.com/gpu=1"));
}

TEST(ToSpecTest, Mounts) {
  runtime::ContainerSpec asked;
  asked.mounts.resize(3);
  asked.mounts[0].container_path = "/keep";
  asked.mounts[1].container_path = "/replace/";
  asked.mounts[2].container_path = "//gone";
  const auto spec = Good(
      R"(mounts { destination: "/replace" source: "/s" options: "ro" options: "rbind" }
         mounts { destination: "-/gone/" } mounts { destination: "-/never" }
         mounts { destination: "/sys/fs/cgroup" type: "cgroup" source: "cgroup" options: "rw" })",
      asked);
  ASSERT_EQ(spec.mounts.size(), 1u);
  EXPECT_EQ(spec.mounts[0].container_path, "/keep");
  EXPECT_THAT(spec.extras.edits.mounts,
              ElementsAre(cdi::CdiMount{"/s", "/replace", "", {"ro", "rbind"}},
                          cdi::CdiMount{"cgroup", "/sys/fs/cgroup", "cgroup", {"rw"}}));
}

TEST(ToSpecTest, AMountOfTheSamePlaceReplacesAStandardOneThatIsRemoved) {
  const auto spec = Good(R"(mounts { destination: "/sys/fs/cgroup" type: "cgroup" }
                            mounts { destination: "-/sys/fs/cgroup" })");
  EXPECT_THAT(spec.extras.edits.mounts,
              ElementsAre(cdi::CdiMount{"", "/sys/fs/cgroup", "cgroup", {}}));
}

TEST(ToSpecTest, Devices) {
  runtime::ContainerSpec asked;
  asked.devices = {
      {"/dev/keep", "/dev/a", "r"}, {"/dev/new/", "/dev/b", "r"}, {"/dev/gone", "/dev/c", "r"}};
  const auto spec = Good(
      R"(linux { devices { path: "/dev/new" type: "c" major: 10 minor: 200
                           file_mode { value: 0x2180 } uid { value: 1 } gid { value: 2 } }
                 devices { path: "/dev/disk" type: "b" major: 8 minor: 1 }
                 devices { path: "/dev/pipe" type: "p" }
                 devices { path: "/dev/ruled" type: "u" major: 5 minor: 6 }
                 devices { path: "-/dev/gone" } devices { path: "-/dev/never" }
                 resources { devices { allow: true type: "c" major { value: 5 } minor { value: 6 }
                                       access: "rm" } } })",
      asked);
  EXPECT_THAT(spec.devices, ElementsAre(asked.devices[0]));
  EXPECT_THAT(
      spec.extras.edits.device_nodes,
      ElementsAre(
          cdi::DeviceNode{.path = "/dev/new",
                          .type = "c",
                          .major = 10,
                          .minor = 200,
                          .file_mode = 0600,
                          .permissions = "rw",
                          .uid = 1,
                          .gid = 2},
          cdi::DeviceNode{
              .path = "/dev/disk", .type = "b", .major = 8, .minor = 1, .permissions = "rwm"},
          cdi::DeviceNode{.path = "/dev/pipe", .type = "p"},
          cdi::DeviceNode{
              .path = "/dev/ruled", .type = "u", .major = 5, .minor = 6, .permissions = "rm"}));
}

TEST(ToSpecTest, ARuleGoesWithItsDevice) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", Answer(R"(linux { devices { path: "/dev/x" type: "c" major: 1
                                                              minor: 2 } })")),
            absl::OkStatus());
  ASSERT_EQ(creation.Take("20-b", Answer(R"(linux { resources { devices {
                                              allow: true type: "c" major { value: 1 }
                                              minor { value: 2 } access: "r" } } })")),
            absl::OkStatus());
  auto spec = creation.Adjusted({});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->extras.edits.device_nodes.at(0).permissions, "r");
  ASSERT_EQ(creation.Take("30-c", Answer(R"(linux { devices { path: "-/dev/x" } })")),
            absl::OkStatus());
  spec = creation.Adjusted({});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->extras.edits.device_nodes, IsEmpty());
}

TEST(ToSpecTest, DevicesThatOneAdjustmentCantRemove) {
  runtime::ContainerSpec asked;
  asked.devices = {{"/dev/dri", "/dev/dri", "rw"}};
  EXPECT_EQ(SpecAfter(R"(linux { devices { path: "-/dev/dri/card0" } })", asked).status(),
            absl::FailedPreconditionError(
                "plugin 10-a: linux.devices \"/dev/dri/card0\" can't be removed: the container "
                "asks for all devices below /dev/dri"));
  asked = {};
  asked.security.privileged = true;
  EXPECT_EQ(SpecAfter(R"(linux { devices { path: "-/dev/kvm" } })", asked).status(),
            absl::FailedPreconditionError(
                "plugin 10-a: linux.devices \"/dev/kvm\" can't be removed: the container is "
                "privileged and has all devices of the host"));
}

TEST(ToSpecTest, Namespaces) {
  const auto spec = Good(R"(linux { namespaces { type: "network" path: "/run/netns/x" }
                                    namespaces { type: "ipc" } namespaces { type: "-pid" }
                                    namespaces { type: "mount" } namespaces { type: "-time" } })");
  EXPECT_THAT(spec.extras.namespaces,
              ElementsAre(runtime::NamespaceChange{"network", "/run/netns/x"},
                          runtime::NamespaceChange{"ipc", ""},
                          runtime::NamespaceChange{.type = "pid", .of_host = true},
                          runtime::NamespaceChange{"mount", ""}));
}

TEST(ToSpecTest, KernelParametersAndNetworkDevices) {
  const auto spec = Good(
      R"(linux { sysctl { key: "net.ipv4.ip_forward" value: "1" } sysctl { key: "-net.a" }
                 net_devices { key: "eth1" value { name: "net1" } }
                 net_devices { key: "eth2" value {} } net_devices { key: "-eth3" }
                 cgroups_path: "/kubepods/pod1/mine" oom_score_adj { value: -998 } })");
  EXPECT_THAT(spec.extras.sysctls, ElementsAre(Pair("net.ipv4.ip_forward", "1")));
  EXPECT_THAT(spec.extras.net_devices, ElementsAre(Pair("eth1", "net1"), Pair("eth2", "eth2")));
  EXPECT_EQ(spec.extras.cgroups_path, "/kubepods/pod1/mine");
  EXPECT_EQ(spec.oom_score_adj, -998);
}

TEST(ToSpecTest, TwoPluginsNetworkDevicesGetOneName) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", Answer(R"(linux { net_devices { key: "eth1" value {} } })")),
            absl::OkStatus());
  EXPECT_EQ(creation.Take("20-b", Answer(R"(linux { net_devices { key: "eth2"
                                                                  value { name: "eth1" } } })")),
            absl::InvalidArgumentError("plugin 20-b: linux.net_devices \"eth2\" gets the name "
                                       "\"eth1\" in the container, which eth1 (plugin 10-a) has "
                                       "there"));
}

TEST(ToSpecTest, PriorityOfIo) {
  const auto spec = Good("linux { io_priority { class: IOPRIO_CLASS_RT priority: 7 } }");
  EXPECT_EQ(spec.extras.io_priority, (runtime::IoPriority{"IOPRIO_CLASS_RT", 7}));
  EXPECT_FALSE(Good("linux { io_priority {} }").extras.io_priority.has_value());
}

TEST(ToSpecTest, Schedulers) {
  EXPECT_EQ(Good("linux { scheduler { policy: LINUX_SCHED_BATCH nice: -5 } }").extras.scheduler,
            (runtime::Scheduler{.policy = "SCHED_BATCH", .nice = -5}));
  EXPECT_EQ(Good("linux { scheduler { policy: LINUX_SCHED_RR priority: 99 } }").extras.scheduler,
            (runtime::Scheduler{.policy = "SCHED_RR", .priority = 99}));
  EXPECT_EQ(Good(R"(linux { scheduler { policy: LINUX_SCHED_DEADLINE runtime: 1024 deadline: 2000
                                        flags: LINUX_SCHED_FLAG_RECLAIM
                                        flags: LINUX_SCHED_FLAG_RESET_ON_FORK
                                        flags: LINUX_SCHED_FLAG_RECLAIM } })")
                .extras.scheduler,
            (runtime::Scheduler{.policy = "SCHED_DEADLINE",
                                .flags = {"SCHED_FLAG_RECLAIM", "SCHED_FLAG_RESET_ON_FORK"},
                                .runtime_ns = 1024,
                                .deadline_ns = 2000}));
  EXPECT_FALSE(Good("linux { scheduler {} }").extras.scheduler.has_value());
}

TEST(ToSpecTest, MemoryPolicies) {
  EXPECT_EQ(Good(R"(linux { memory_policy { mode: LINUX_MPOL_BIND nodes: "0-1"
                                            flags: LINUX_MPOL_F_STATIC_NODES
                                            flags: LINUX_MPOL_F_NUMA_BALANCING } })")
                .extras.memory_policy,
            (runtime::MemoryPolicy{
                "MPOL_BIND", "0-1", {"MPOL_F_STATIC_NODES", "MPOL_F_NUMA_BALANCING"}}));
  EXPECT_EQ(Good("linux { memory_policy {} }").extras.memory_policy,
            (runtime::MemoryPolicy{"MPOL_DEFAULT", "", {}}));
  EXPECT_EQ(Good("linux { memory_policy { mode: LINUX_MPOL_PREFERRED } }").extras.memory_policy,
            (runtime::MemoryPolicy{"MPOL_PREFERRED", "", {}}));
}

TEST(ToSpecTest, Resources) {
  runtime::ContainerSpec asked;
  asked.resources.cpu_shares = 100;
  asked.resources.cpuset_cpus = "0";
  const auto spec = Good(
      R"(linux { resources { memory { limit { value: 4096 } reservation { value: 1024 } }
                             cpu { cpus: "2-3" realtime_runtime { value: 7 } }
                             hugepage_limits { page_size: "2MB" limit: 4 }
                             unified { key: "memory.high" value: "9" }
                             blockio_class { value: "slow" } rdt_class { value: "gold" }
                             pids { limit: 5 } } })",
      asked);
  EXPECT_EQ(spec.resources.cpu_shares, 100u);
  EXPECT_EQ(spec.resources.cpuset_cpus, "2-3");
  EXPECT_EQ(spec.resources.memory_limit_bytes, 4096);
  EXPECT_EQ(spec.resources.pids_limit, 5);
  EXPECT_THAT(spec.resources.hugetlb_limits, ElementsAre(Pair("2MB", 4)));
  EXPECT_THAT(spec.resources.unified, ElementsAre(Pair("memory.high", "9")));
  EXPECT_THAT(spec.classes, ElementsAre(Pair("blockio", "slow"), Pair("rdt", "gold")));
  EXPECT_EQ(spec.extras.memory.reservation_bytes, 1024);
  EXPECT_EQ(spec.extras.realtime.runtime_us, 7);
}

TEST(ToSpecTest, ResourcesOfPluginsMustFitTogether) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", Answer("linux { resources { memory { limit { value: 4096 } } } "
                                         "}")),
            absl::OkStatus());
  EXPECT_EQ(creation.Take("20-b", Answer("linux { resources { memory { swap { value: 100 } } } }")),
            absl::InvalidArgumentError("plugin 10-a and 20-b: linux.resources.memory.swap is "
                                       "\"100\": must be at least memory.limit, 4096, since it "
                                       "counts memory and swap together"));
}

TEST(ToSpecTest, RdtClasses) {
  runtime::ContainerSpec asked;
  asked.classes["rdt"] = "silver";
  EXPECT_THAT(Good(R"(linux { rdt { clos_id { value: "gold" } enable_monitoring { value: true } }
                    })",
                   asked)
                  .classes,
              ElementsAre(Pair("rdt", "gold")));
  EXPECT_THAT(Good("linux { rdt { remove: true } }", asked).classes, IsEmpty());
  EXPECT_THAT(Good(R"(linux { rdt { remove: true clos_id { value: "gold" } } })", asked).classes,
              ElementsAre(Pair("rdt", "gold")));
  EXPECT_THAT(
      Good(R"(linux { rdt { remove: true } resources { rdt_class { value: "gold" } } })", asked)
          .classes,
      ElementsAre(Pair("rdt", "gold")));
}

TEST(ToSpecTest, TwoPluginsNameTheRdtClass) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", Answer(R"(linux { resources { rdt_class { value: "gold" } } })")),
            absl::OkStatus());
  EXPECT_EQ(creation.Take("20-b", Answer(R"(linux { rdt { clos_id { value: "silver" } } })")),
            absl::AlreadyExistsError(
                "plugin 20-b sets linux.rdt.clos_id to \"silver\" and plugin 10-a "
                "linux.resources.rdt_class to \"gold\": both name the container's class of type "
                "rdt, so only one of them may be set"));
}

TEST(ToSpecTest, Seccomp) {
  EXPECT_EQ(Good(R"(linux { seccomp_policy { default_action: "SCMP_ACT_ERRNO"
                              default_errno { value: 38 } architectures: "SCMP_ARCH_X86_64"
                              flags: "SECCOMP_FILTER_FLAG_TSYNC"
                              syscalls { names: "read" names: "write" action: "SCMP_ACT_ALLOW"
                                         errno_ret { value: 1 }
                                         args { index: 5 value: 18446744073709551615 value_two: 3
                                                op: "SCMP_CMP_MASKED_EQ" } } } })")
                .extras.seccomp_policy,
            R"({"architectures":["SCMP_ARCH_X86_64"],"defaultAction":"SCMP_ACT_ERRNO",)"
            R"("defaultErrnoRet":38,"flags":["SECCOMP_FILTER_FLAG_TSYNC"],"syscalls":[{)"
            R"("action":"SCMP_ACT_ALLOW","args":[{"index":5,"op":"SCMP_CMP_MASKED_EQ",)"
            R"("value":18446744073709551615,"valueTwo":3}],"errnoRet":1,"names":["read","write"])"
            R"(}]})");
  EXPECT_EQ(Good(R"(linux { seccomp_policy { default_action: "SCMP_ACT_ALLOW" } })")
                .extras.seccomp_policy,
            R"({"defaultAction":"SCMP_ACT_ALLOW"})");
}

}  // namespace
}  // namespace plimsoll::nri
