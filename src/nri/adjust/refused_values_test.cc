// Values that an adjustment can't have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

struct RefusedValue {
  const char* adjust;
  absl::StatusCode code;
  const char* message;  // without "plugin 10-a: "
};

constexpr absl::StatusCode kWrong = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kImpossible = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

void ExpectRefused(const RefusedValue& one) {
  Creation creation = CreationOf();
  const absl::Status status = creation.Take("10-a", Answer(one.adjust));
  EXPECT_EQ(status, absl::Status(one.code, absl::StrCat("plugin 10-a: ", one.message)))
      << one.adjust;
  EXPECT_FALSE(creation.IsAdjusted()) << one.adjust;
}

TEST(RefusedValuesTest, OfTheProcess) {
  const RefusedValue kCases[] = {
      {R"(annotations { key: "" value: "x" })", kWrong, "annotations has an empty key"},
      {R"(annotations { key: "-" })", kWrong, "annotations has an empty key"},
      {R"(env { value: "x" })", kWrong,
       "env is no name of a variable: it must not be empty or have \"=\""},
      {R"(env { key: "-" })", kWrong,
       "env is no name of a variable: it must not be empty or have \"=\""},
      {R"(env { key: "A=B" })", kWrong,
       "env \"A=B\" is no name of a variable: it must not be empty or have \"=\""},
      {R"(args: "")", kWrong,
       "args name no program: it must follow the empty one that removes the present ones"},
      {R"(args: "" args: "" args: "a")", kWrong,
       "args name no program: it must follow the empty one that removes the present ones"},
      {R"(hooks { prestart { path: "hook" } })", kWrong,
       "hooks.prestart \"hook\" is no absolute path to a program"},
      {R"(hooks { poststop {} })", kWrong, "hooks.poststop is no absolute path to a program"},
      {R"(hooks { poststop { path: "/h" env: "=b" } })", kWrong,
       "hooks.poststop \"/h\" has \"=b\" in env; NAME=value is right"},
      {R"(hooks { poststart { path: "/h" timeout {} } })", kWrong,
       "hooks.poststart \"/h\" has a timeout of 0; 1 to 2147483647 seconds are possible"},
      {R"(rlimits { type: "-RLIMIT_CORE" })", kWrong,
       "rlimits \"-RLIMIT_CORE\" is no limit; valid are RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, "
       "RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_LOCKS, RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE, RLIMIT_NICE, "
       "RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_RSS, RLIMIT_RTPRIO, RLIMIT_RTTIME, "
       "RLIMIT_SIGPENDING, RLIMIT_STACK"},
      {R"(rlimits { type: "RLIMIT_CORE" soft: 2 hard: 1 })", kWrong,
       "rlimits \"RLIMIT_CORE\" has a soft limit of 2, above its hard limit of 1"},
      {R"(CDI_devices { name: "classes.plimsoll.dev/rdt=gold" })", kImpossible,
       "CDI_devices \"classes.plimsoll.dev/rdt=gold\" is a class of the scheduler's; a plugin sets "
       "classes in linux.resources.rdt_class and linux.resources.blockio_class"},
      {R"(linux { oom_score_adj { value: 1001 } })", kWrong,
       "linux.oom_score_adj is 1001; -1000 to 1000 are possible"},
      {R"(linux { oom_score_adj { value: -1001 } })", kWrong,
       "linux.oom_score_adj is -1001; -1000 to 1000 are possible"},
  };
  for (const RefusedValue& one : kCases) ExpectRefused(one);
  const absl::Status no_device =
      CreationOf().Take("10-a", Answer(R"(CDI_devices { name: "gpu" })"));
  EXPECT_EQ(no_device.code(), kWrong);
  EXPECT_THAT(no_device.ToString(), testing::HasSubstr("plugin 10-a: CDI_devices \"gpu\" is no"));
}

TEST(RefusedValuesTest, ThatAreTooLong) {
  api::CreateContainerResponse answer;
  answer.mutable_adjust()->add_env()->set_key(std::string(131070, 'x'));
  EXPECT_EQ(CreationOf().Take("10-a", answer), absl::OkStatus());
  answer.mutable_adjust()->mutable_env(0)->set_value("y");
  EXPECT_THAT(CreationOf().Take("10-a", answer).ToString(),
              testing::HasSubstr("is too long: name and value may have 131070 bytes together"));
  answer.Clear();
  answer.mutable_adjust()->add_args("program");
  answer.mutable_adjust()->add_args(std::string(131072, 'x'));
  EXPECT_EQ(CreationOf().Take("10-a", answer),
            absl::InvalidArgumentError("plugin 10-a: args have one of 131072 bytes; at most "
                                       "131071 are possible"));
  answer.Clear();
  answer.mutable_adjust()->mutable_linux()->set_cgroups_path(std::string(4096, 'x'));
  EXPECT_THAT(CreationOf().Take("10-a", answer).ToString(),
              testing::HasSubstr("linux.cgroups_path is \"xxx"));
  answer.mutable_adjust()->mutable_linux()->set_cgroups_path("/" + std::string(256, 'x'));
  EXPECT_THAT(CreationOf().Take("10-a", answer).ToString(),
              testing::HasSubstr("a name in it is too long"));
}

TEST(RefusedValuesTest, OfMountsAndDevices) {
  const char* const kNumbers = "; 0:0 to 4095:1048575 are possible";
  const RefusedValue kCases[] = {
      {R"(mounts { destination: "m" type: "tmpfs" })", kWrong,
       "mounts \"m\" is no place for a mount: an absolute path other than / is right"},
      {R"(mounts { destination: "//" type: "tmpfs" })", kWrong,
       "mounts \"/\" is no place for a mount: an absolute path other than / is right"},
      {R"(mounts { destination: "/a/.." type: "tmpfs" })", kWrong,
       "mounts \"/a/..\" is no place for a mount: an absolute path other than / is right"},
      {R"(mounts { destination: "-" })", kWrong,
       "mounts is no place for a mount: an absolute path other than / is right"},
      {R"(mounts { destination: "/m" source: "s" })", kWrong,
       "mounts \"/m\" has the source \"s\"; of a bind mount, that must be an absolute path"},
      {R"(mounts { destination: "/m" type: "none" options: "rbind" })", kWrong,
       "mounts \"/m\" has the source \"\"; of a bind mount, that must be an absolute path"},
      {R"(mounts { destination: "/m" source: "/s" options: "relabel" })", kUnsupported,
       "mounts \"/m\" has the option relabel; the plugin must label the source itself"},
      {R"(mounts { destination: "-/proc" })", kImpossible,
       "mounts \"/proc\" can't be removed: every container has it. A mount of the plugin's at the "
       "same place replaces it"},
      {R"(linux { devices { path: "x" type: "c" } })", kWrong,
       "linux.devices \"x\" is no absolute path to a device"},
      {R"(linux { devices { path: "/dev/x" } })", kWrong,
       "linux.devices \"/dev/x\" has the type \"\"; valid are b, c, u and p"},
      {R"(linux { devices { path: "/dev/x" type: "a" } })", kWrong,
       "linux.devices \"/dev/x\" has the type \"a\"; valid are b, c, u and p"},
      {R"(linux { devices { path: "/dev/x" type: "c" file_mode { value: 1048576 } } })", kWrong,
       "linux.devices \"/dev/x\" has a file_mode that is no file's"},
      {R"(linux { devices { path: "-/dev/null" } })", kImpossible,
       "linux.devices \"/dev/null\" can't be removed: every container has it"},
      {R"(linux { resources { devices { type: "a" access: "rwm" } } })", kUnsupported,
       "linux.resources.devices \"a *:*\" forbids a device; a device that the container shall not "
       "have is removed in linux.devices"},
      {R"(linux { resources { devices { allow: true type: "c" major { value: 1 } } } })", kWrong,
       "linux.resources.devices \"c 1:*\" has the access \"\"; letters of \"rwm\" are right"},
      {R"(linux { devices { path: "/dev/x" type: "c" major: 1 minor: 1 }
                  resources { devices { allow: true type: "c" major { value: 1 } access: "r" } } }
       )",
       kUnsupported,
       "linux.resources.devices \"c 1:*\" allows a device that linux.devices has not; a device in "
       "linux.devices brings its rule"},
  };
  for (const RefusedValue& one : kCases) ExpectRefused(one);
  for (const char* numbers : {"major: -1", "major: 4096", "minor: -1", "minor: 1048576"}) {
    const auto status = CreationOf().Take(
        "10-a",
        Answer(absl::StrCat("linux { devices { path: \"/dev/x\" type: \"c\" ", numbers, " } }")));
    EXPECT_THAT(status.ToString(), testing::HasSubstr(kNumbers)) << numbers;
  }
}

TEST(RefusedValuesTest, OfNamespaces) {
  const RefusedValue kCases[] = {
      {R"(linux { namespaces { type: "net" } })", kWrong,
       "linux.namespaces \"net\" is no type of namespace; valid are cgroup, ipc, mount, network, "
       "pid, time, user and uts"},
      {R"(linux { namespaces { type: "ipc" path: "x" } })", kWrong,
       "linux.namespaces \"ipc\" has the path \"x\"; an absolute path, or none for a new "
       "namespace, is right"},
      {R"(linux { namespaces { type: "user" } })", kUnsupported,
       "linux.namespaces \"user\" can't be changed for one container: the pod's user namespace "
       "owns "
       "all others of it"},
      {R"(linux { namespaces { type: "time" } })", kUnsupported,
       "linux.namespaces \"time\" can't be had: time namespaces are not supported"},
      {R"(linux { namespaces { type: "mount" path: "/proc/1/ns/mnt" } })", kUnsupported,
       "linux.namespaces \"mount\" can't be joined: the container's root filesystem is in a mount "
       "namespace of its own"},
      {R"(linux { namespaces { type: "-user" } })", kImpossible,
       "linux.namespaces \"user\" can't be removed: the container's files would be the host's"},
      {R"(linux { namespaces { type: "-mount" } })", kImpossible,
       "linux.namespaces \"mount\" can't be removed: the container's files would be the host's"},
      {R"(linux { sysctl { key: "net.a" value: " " } })", kWrong,
       "linux.sysctl \"net.a\" has the value \" \"; a line of 1 to 4095 bytes is right"},
      {R"(linux { sysctl { key: "net.a" value: "1\n2" } })", kWrong,
       "linux.sysctl \"net.a\" has the value \"1\\n2\"; a line of 1 to 4095 bytes is right"},
      {R"(linux { net_devices { key: "a/b" value {} } })", kWrong,
       "linux.net_devices \"a/b\" is no name of a network device: 1 to 15 bytes without \"/\", "
       "\":\" and white space are right"},
      {R"(linux { net_devices { key: "eth0" value { name: "0123456789abcdef" } } })", kWrong,
       "linux.net_devices \"eth0\" has the new name \"0123456789abcdef\": 1 to 15 bytes without "
       "\"/\", \":\" and white space are right"},
      {R"(linux { net_devices { key: "-" } })", kWrong,
       "linux.net_devices is no name of a network device: 1 to 15 bytes without \"/\", \":\" and "
       "white space are right"},
      {R"(linux { net_devices { key: "a" value { name: "x" } }
                  net_devices { key: "b" value { name: "x" } } })",
       kWrong,
       "linux.net_devices \"b\" gets the name \"x\" in the container, which a (plugin 10-a) has "
       "there"},
      {R"(linux { cgroups_path: "/a/../b" })", kWrong,
       "linux.cgroups_path is \"/a/../b\"; \".\" and \"..\" are not allowed in it"},
  };
  for (const RefusedValue& one : kCases) ExpectRefused(one);
  const absl::Status of_the_host =
      CreationOf().Take("10-a", Answer(R"(linux { sysctl { key: "vm.swappiness" value: "1" } })"));
  EXPECT_EQ(of_the_host.code(), kWrong);
  EXPECT_THAT(of_the_host.ToString(),
              testing::HasSubstr("plugin 10-a: linux.sysctl \"vm.swappiness\" can't be set: "));
}

TEST(RefusedValuesTest, OfScheduling) {
  const char* const kDeadline = " ns; 1024 <= runtime <= deadline <= period is right";
  const RefusedValue kCases[] = {
      {"linux { io_priority { class: 4 } }", kWrong,
       "linux.io_priority has the class 4; 0 to 3 are the protocol's"},
      {"linux { io_priority { class: IOPRIO_CLASS_BE priority: 8 } }", kWrong,
       "linux.io_priority has the priority 8; 0 (highest) to 7 are possible"},
      {"linux { io_priority { class: IOPRIO_CLASS_BE priority: -1 } }", kWrong,
       "linux.io_priority has the priority -1; 0 (highest) to 7 are possible"},
      {"linux { scheduler { policy: 8 } }", kWrong,
       "linux.scheduler has the policy 8; 0 to 7 are the protocol's"},
      {"linux { scheduler { policy: LINUX_SCHED_ISO } }", kUnsupported,
       "linux.scheduler has the policy SCHED_ISO, which Linux never got"},
      {"linux { scheduler { policy: LINUX_SCHED_FIFO } }", kWrong,
       "linux.scheduler has the priority 0; of SCHED_FIFO, 1 to 99 are possible"},
      {"linux { scheduler { policy: LINUX_SCHED_RR priority: 100 } }", kWrong,
       "linux.scheduler has the priority 100; of SCHED_RR, 1 to 99 are possible"},
      {"linux { scheduler { policy: LINUX_SCHED_OTHER priority: 1 } }", kWrong,
       "linux.scheduler has the priority 1; only SCHED_FIFO and SCHED_RR have one"},
      {"linux { scheduler { policy: LINUX_SCHED_OTHER nice: 20 } }", kWrong,
       "linux.scheduler has the nice value 20; -20 to 19 are possible"},
      {"linux { scheduler { policy: LINUX_SCHED_OTHER runtime: 1 } }", kWrong,
       "linux.scheduler has a runtime, deadline or period; only SCHED_DEADLINE has those"},
      {"linux { scheduler { policy: LINUX_SCHED_IDLE flags: 7 } }", kWrong,
       "linux.scheduler has the flag 7; 0 to 6 are the protocol's"},
      {"linux { memory_policy { mode: 7 } }", kWrong,
       "linux.memory_policy has the mode 7; 0 to 6 are the protocol's"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_BIND } })", kWrong,
       "linux.memory_policy has no nodes; MPOL_BIND needs some, as \"0-1,3\""},
      {R"(linux { memory_policy { nodes: "0" } })", kWrong,
       "linux.memory_policy has nodes; MPOL_DEFAULT takes none"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_BIND nodes: "x" } })", kWrong,
       "linux.memory_policy has the nodes \"x\"; a list such as \"0-1,3\" is right"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_BIND nodes: "0" flags: 3 } })", kWrong,
       "linux.memory_policy has the flag 3; 0 to 2 are the protocol's"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_BIND nodes: "0" flags: LINUX_MPOL_F_STATIC_NODES
                                  flags: LINUX_MPOL_F_RELATIVE_NODES } })",
       kWrong,
       "linux.memory_policy has MPOL_F_STATIC_NODES and MPOL_F_RELATIVE_NODES; only one may be "
       "set"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_LOCAL flags: LINUX_MPOL_F_STATIC_NODES } })",
       kWrong, "linux.memory_policy has a flag about nodes and no nodes"},
      {R"(linux { memory_policy { mode: LINUX_MPOL_INTERLEAVE nodes: "0"
                                  flags: LINUX_MPOL_F_NUMA_BALANCING } })",
       kWrong,
       "linux.memory_policy has MPOL_F_NUMA_BALANCING, which MPOL_INTERLEAVE doesn't take; "
       "MPOL_BIND and MPOL_PREFERRED_MANY do"},
  };
  for (const RefusedValue& one : kCases) ExpectRefused(one);
  for (const char* times : {"runtime: 1023 deadline: 2000", "runtime: 3000 deadline: 2000",
                            "runtime: 1024 deadline: 3000 period: 2999", "",
                            "runtime: 1024 deadline: 2000 period: 18446744073709551615"}) {
    const auto status = CreationOf().Take(
        "10-a",
        Answer(absl::StrCat("linux { scheduler { policy: LINUX_SCHED_DEADLINE ", times, " } }")));
    EXPECT_EQ(status.code(), kWrong) << times;
    EXPECT_THAT(status.ToString(), testing::HasSubstr(kDeadline)) << times;
  }
}

TEST(RefusedValuesTest, OfResources) {
  const RefusedValue kCases[] = {
      {R"(linux { resources { cpu { cpus: "x" } } })", kWrong,
       "linux.resources.cpu.cpus is \"x\": must be a list such as \"0-3,8\""},
      {R"(linux { rdt { clos_id {} } })", kWrong,
       "linux.rdt.clos_id is empty; the name of a class of type rdt is right, or linux.rdt.remove "
       "for the default class"},
      {R"(linux { rdt { enable_monitoring {} } })", kImpossible,
       "linux.rdt.enable_monitoring can't be false: each container with a class of type rdt is "
       "monitored"},
  };
  for (const RefusedValue& one : kCases) ExpectRefused(one);
  EXPECT_EQ(CreationOf()
                .Take("10-a", Answer(R"(linux { rdt { clos_id { value: "a" } }
                                                resources { rdt_class { value: "b" } } })"))
                .code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(RefusedValuesTest, OfSeccomp) {
  const auto policy = [](const std::string& members) {
    return "linux { seccomp_policy { " + members + " } }";
  };
  const std::string good = R"(default_action: "SCMP_ACT_ALLOW" )";
  const std::pair<std::string, std::string> kWrongOnes[] = {
      {"", "has \"\" as default_action; valid are SCMP_ACT_ALLOW, SCMP_ACT_ERRNO,"},
      {R"(default_action: "allow")", "has \"allow\" as default_action; valid are SCMP_ACT_ALLOW,"},
      {good + "default_errno { value: 4096 }", "has 4096 as default_errno; 0 to 4095 are possible"},
      {good + R"(architectures: "amd64")",
       "has \"amd64\" as architecture; valid are SCMP_ARCH_AARCH64,"},
      {good + R"(syscalls { names: "read" action: "x" })",
       "has \"x\" as syscalls[0].action; valid are"},
      {good + R"(syscalls { action: "SCMP_ACT_LOG" })", "has no system call in syscalls[0].names"},
      {good + R"(syscalls { names: "read" action: "SCMP_ACT_ERRNO" errno_ret { value: 4096 } })",
       "has 4096 as syscalls[0].errno_ret; 0 to 4095 are possible"},
      {good + R"(syscalls { names: "read" action: "SCMP_ACT_LOG" args { index: 6 } })",
       "has 6 as syscalls[0].args.index; 0 to 5 are possible"},
      {good + R"(syscalls { names: "read" action: "SCMP_ACT_LOG" args { op: "==" } })",
       "has \"==\" as syscalls[0].args.op; valid are SCMP_CMP_EQ,"},
  };
  for (const auto& [members, message] : kWrongOnes) {
    const auto status = CreationOf().Take("10-a", Answer(policy(members)));
    EXPECT_EQ(status.code(), kWrong) << members;
    EXPECT_THAT(status.ToString(),
                testing::HasSubstr("plugin 10-a: linux.seccomp_policy " + message));
  }
  const std::pair<std::string, std::string> kUnsupportedOnes[] = {
      {R"(default_action: "SCMP_ACT_NOTIFY")", "has SCMP_ACT_NOTIFY as default_action"},
      {good + R"(flags: "SECCOMP_FILTER_FLAG_LOG")", "has the flag \"SECCOMP_FILTER_FLAG_LOG\""},
      {good + R"(listener_path: "/s")", "has a listener"},
      {good + R"(listener_metadata: "m")", "has a listener"},
  };
  for (const auto& [members, message] : kUnsupportedOnes) {
    const auto status = CreationOf().Take("10-a", Answer(policy(members)));
    EXPECT_EQ(status.code(), kUnsupported) << members;
    EXPECT_THAT(status.ToString(), testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace plimsoll::nri
