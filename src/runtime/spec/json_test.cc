#include "runtime/spec/json.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

linux::CgroupSettings FullSettings() {
  return {.cpu_shares = 512,
          .cpu_quota_us = -1,
          .cpu_period_us = 100000,
          .cpuset_cpus = "0-3,8",
          .cpuset_mems = "0",
          .memory_limit_bytes = std::numeric_limits<int64_t>::max(),
          .memory_swap_limit_bytes = std::numeric_limits<int64_t>::min(),
          .pids_limit = 100,
          .hugetlb_limits = {{"1GB", std::numeric_limits<uint64_t>::max()}, {"2MB", 0}},
          .unified = {{"memory.high", "1000"}, {"io.weight", "default 100"}}};
}

PodResources FullPodResources() {
  AnnouncedContainer init = {.name = "setup", .kubernetes_resources = {.is_given_empty = true}};
  AnnouncedContainer web = {
      .name = "web",
      .type = AnnouncedContainer::Type::kContainer,
      .kubernetes_resources = {.requests = {{"cpu", "0.50"}}, .limits = {{"memory", "1e9"}}},
      .mounts = {{.container_path = "/data",
                  .host_path = "/srv",
                  .readonly = true,
                  .uid_mappings = {{1000, 0, 65536}},
                  .gid_mappings = {{1001, 1, 65535}},
                  .image = "docker.io/library/busybox:1",
                  .image_sub_path = "bin",
                  .image_spec = {.annotations = {{"key", "value"}},
                                 .user_specified_image = "busybox",
                                 .runtime_handler = "vm",
                                 .image_ref = "sha256:1"},
                  .mount_options = {"noexec"}}},
      .devices = {{"/dev/fuse", "/dev/fuse0", "rw"}},
      .cdi_devices = {"example.com/gpu=0"}};
  return {.containers = {init, web}, .kubernetes_resources = {.limits = {{"cpu", "4"}}}};
}

// Every member differs from its default.
PodFacts FullFacts() {
  PodFacts facts = {.resources = FullPodResources(), .has_spec = true, .ephemeral = {"debug"}};
  facts.has_grants = true;
  facts.grants["web"] = {.devices = {{"vendor.com/gpu", {"GPU-1", "GPU-2"}}},
                         .exclusive_cpus = "2-3",
                         .memory = {{"hugepages-2Mi", {0, 1}, 4 << 20}},
                         .cdi_devices = {"vendor.com/nic=0"}};
  facts.grants["log"] = {};
  facts.missing = {"mounts: kubelet reports no host paths"};
  return facts;
}

SandboxSpec FullSandbox() {
  return {.name = "web",
          .uid = "8b1d",
          .pod_namespace = "shop",
          .attempt = std::numeric_limits<uint32_t>::max(),
          .hostname = "web-0",
          .log_directory = "/var/log/pods/x",
          .cgroup_parent = "/kubepods/pod1",
          .runtime_handler = "crun",
          .namespaces = {.network = NamespaceMode::kNode,
                         .pid = NamespaceMode::kTarget,
                         .ipc = NamespaceMode::kNode,
                         .target_container_id = "abc",
                         .uid_mappings = {{100000, 0, 65536}},
                         .gid_mappings = {{200000, 0, 65536}}},
          .sysctls = {{"net.ipv4.ip_forward", "1"}},
          .privileged = true,
          .resources = FullSettings(),
          .overhead = {.memory_limit_bytes = 1 << 20},
          .dns_servers = {"10.0.0.10", "fd00::a"},
          .dns_searches = {"shop.svc.cluster.local"},
          .dns_options = {"ndots:5"},
          .classes_from_scheduler = true,
          .update_annotations = {{"example.com/option", "fast"}},
          .pod_resources = FullPodResources(),
          .announced_by = SaidBy::kAnnotation,
          .facts = FullFacts(),
          .needed_before = {.requests = {{"cpu", "1"}}, .limits = {{"memory", "1Gi"}}},
          .picture_directory = "/etc/pod",
          .network = {.port_mappings = {{.protocol = "udp",
                                         .container_port = 53,
                                         .host_port = 5353,
                                         .host_ip = "127.0.0.1"}},
                      .ingress_bits_per_second = 1000,
                      .egress_bits_per_second = 2000},
          .selinux = {"system_u", "system_r", "container_t", "s0:c1,c2"}};
}

// Every member differs from its default.
OciExtras FullExtras() {
  OciExtras extras;
  extras.unset_environment = {"A"};
  extras.edits = {.env = {"B=1"},
                  .device_nodes = {{"/dev/a", "/dev/b", "c", 1, 2, 0644u, "rw", 3u, 4u}},
                  .mounts = {{"/h", "/c", "tmpfs", {"ro"}}},
                  .hooks = {{"createRuntime", "/bin/hook", {"hook", "x"}, {"C=2"}, 5}},
                  .additional_gids = {6},
                  .intel_rdt = cdi::IntelRdt{"gold", "L3:0=ff", "MB:0=10", true, true}};
  extras.rlimits = {{"RLIMIT_NOFILE", 7, std::numeric_limits<uint64_t>::max()}};
  extras.sysctls = {{"net.core.somaxconn", "8"}};
  extras.namespaces = {{"network", "/proc/1/ns/net"}, {"ipc", ""}, {"uts", "", true}};
  extras.io_priority = IoPriority{"IOPRIO_CLASS_BE", 9};
  extras.scheduler = Scheduler{"SCHED_DEADLINE", -10, 11, {"SCHED_FLAG_RESET_ON_FORK"}, 12, 13, 14};
  extras.memory_policy = MemoryPolicy{"MPOL_BIND", "0-1", {"MPOL_F_STATIC_NODES"}};
  extras.seccomp_policy = R"({"defaultAction":"SCMP_ACT_ALLOW"})";
  extras.net_devices = {{"eth1", "net0"}};
  extras.memory = {15, 16, 17, 18, true, false};
  extras.realtime = {19, 20};
  extras.cgroups_path = "/pod/x";
  return extras;
}

ContainerSpec FullContainer() {
  ContainerSpec spec{
      .name = "nginx",
      .attempt = 3,
      .image = "docker.io/library/nginx:1",
      .command = {"/bin/sh", "-c"},
      .args = {"echo \"$A\"\n", ""},
      .working_directory = "/srv",
      .environment = {{"B", "2"}, {"A", "1=x"}, {"B", ""}},
      .mounts = {{.container_path = "/data",
                  .host_path = "/srv/data",
                  .readonly = true,
                  .recursive_read_only = true,
                  .selinux_relabel = true,
                  .propagation = MountPropagation::kBidirectional,
                  .uid_mappings = {{100000, 0, 65536}},
                  .gid_mappings = {{200000, 1, 65535}},
                  .image = "docker.io/library/busybox:1",
                  .image_sub_path = "bin",
                  .mount_options = {"noexec", "nodev"}},
                 {.container_path = "/b", .propagation = MountPropagation::kHostToContainer}},
      .devices = {{"/dev/fuse", "/dev/fuse0", "rw"}},
      .log_path = "nginx/3.log",
      .open_stdin = true,
      .stdin_once = true,
      .tty = true,
      .stop_signal = "SIGQUIT",
      .resources = FullSettings(),
      .oom_score_adj = -997,
      .annotations = {{"run.oci.handler", "wasm"}},
      .kubernetes_resources = {.requests = {{"cpu", "1"}}, .limits = {{"cpu", "2000m"}}}};
  spec.security = {
      .capabilities = {.add = {"NET_ADMIN"}, .drop = {"ALL"}, .add_ambient = {"CHOWN"}},
      .privileged = true,
      .namespaces = {.network = NamespaceMode::kNode,
                     .pid = NamespaceMode::kPod,
                     .ipc = NamespaceMode::kNode,
                     .target_container_id = "t",
                     .uid_mappings = {{100000, 0, 65536}},
                     .gid_mappings = {{200000, 0, 65536}}},
      .run_as_user = 0,
      .run_as_group = 65534,
      .run_as_username = "www",
      .supplemental_groups = {10, 4294967295},
      .supplemental_groups_strict = true,
      .readonly_rootfs = true,
      .no_new_privs = true,
      .masked_paths = {"/proc/kcore"},
      .readonly_paths = {"/proc/sys"},
      .seccomp = {SecurityProfile::Type::kLocalhost, "/etc/p.json"},
      .apparmor = {SecurityProfile::Type::kRuntimeDefault, "p"},
      .selinux = {.type = "spc_t", .level = "s0"}};
  spec.extras = FullExtras();
  spec.changed_by = {{"env", "A", "10-a"}, {"linux.resources.cpu.cpus", "", "20-b"}};
  spec.asked = AskedParts{FullSettings(),
                          {{.container_path = "/a"}},
                          {{"/dev/fuse", "/dev/fuse", "r"}},
                          {"vendor.com/gpu=0"}};
  return spec;
}

TEST(JsonTest, EveryMemberOfASandboxRoundTrips) {
  EXPECT_EQ(SandboxSpecFromJson(ToJson(FullSandbox())).value(), FullSandbox());
}

TEST(JsonTest, EveryMemberOfAContainerRoundTrips) {
  EXPECT_EQ(ContainerSpecFromJson(ToJson(FullContainer())).value(), FullContainer());
}

TEST(JsonTest, EveryMemberOfPodResourcesRoundTrips) {
  const std::string text = ToJson(FullPodResources());
  EXPECT_EQ(PodResourcesFromJson(text).value(), FullPodResources());
  // Other programs read this text: see docs/pass-down.md.
  EXPECT_THAT(text, HasSubstr(R"("name":"web","type":"container",)"
                              R"("kubernetes_resources":{"requests":{"cpu":"0.50"})"));
  EXPECT_THAT(text, HasSubstr(R"("mounts":[{"container_path":"/data","host_path":"/srv")"));
}

TEST(JsonTest, EveryMemberOfSettingsRoundTrips) {
  EXPECT_EQ(CgroupSettingsFromJson(ToJson(FullSettings())).value(), FullSettings());
}

TEST(JsonTest, LastResourcesAreThoseOfBeforeWithTheScore) {
  const LastResources full = {.cgroup = FullSettings(), .oom_score_adj = -997};
  EXPECT_EQ(LastResourcesFromJson(ToJson(full)).value(), full);
  EXPECT_EQ(CgroupSettingsFromJson(ToJson(full)).value(), FullSettings()) << "an older build";
  const LastResources older = LastResourcesFromJson(ToJson(FullSettings())).value();
  EXPECT_EQ(older, LastResources{.cgroup = FullSettings()});
  EXPECT_EQ(ToJson(LastResources{.oom_score_adj = 0}), R"({"oom_score_adj":0})");
}

TEST(JsonTest, DefaultsRoundTrip) {
  EXPECT_EQ(SandboxSpecFromJson(ToJson(SandboxSpec())).value(), SandboxSpec());
  EXPECT_EQ(ContainerSpecFromJson(ToJson(ContainerSpec())).value(), ContainerSpec());
  EXPECT_EQ(ToJson(linux::CgroupSettings()), "{}");
}

// An absent limit means "as it is", 0 means 0: they must not become each other.
TEST(JsonTest, AbsentAndZeroStayDifferent) {
  EXPECT_EQ(ToJson(linux::CgroupSettings{.cpu_shares = 0}), R"({"cpu_shares":0})");
  EXPECT_EQ(CgroupSettingsFromJson(R"({"cpu_shares":0})").value().cpu_shares, 0u);
  EXPECT_EQ(CgroupSettingsFromJson(R"({"cpu_shares":null})").value().cpu_shares, std::nullopt);
}

// The picture of a container whose client asked for nothing must not show what plugins gave it.
TEST(JsonTest, NothingAskedIsNotAsAsked) {
  ContainerSpec spec;
  spec.asked.emplace();
  EXPECT_EQ(ContainerSpecFromJson(ToJson(spec)).value(), spec);
}

// Rows of before there were plugins.
TEST(JsonTest, AContainerWithoutPluginsIsReadAsBefore) {
  const ContainerSpec spec = ContainerSpecFromJson(R"({"name":"web","attempt":1})").value();
  EXPECT_EQ(spec.extras, OciExtras());
  EXPECT_EQ(spec.asked, std::nullopt);
  EXPECT_TRUE(spec.changed_by.empty());
  // An older build skips the members that it doesn't know (UnknownKeysAreIgnored).
  EXPECT_THAT(ToJson(spec), Not(HasSubstr("asked")));
}

TEST(JsonTest, NumbersAndChoicesAreAlwaysWritten) {
  const std::string text = ToJson(ContainerSpec());
  EXPECT_THAT(text, HasSubstr(R"("oom_score_adj":0)"));
  EXPECT_THAT(text, HasSubstr(R"("seccomp":{"type":"unconfined"})"));
  EXPECT_THAT(text, Not(HasSubstr("working_directory")));
}

TEST(JsonTest, StringListRoundTrips) {
  const std::vector<std::string> list = {"a", "", "\"quoted\"", "\n\t\x01", "ünï"};
  EXPECT_EQ(StringListFromJson(ToJson(list)).value(), list);
  EXPECT_EQ(ToJson(std::vector<std::string>()), "[]");
}

TEST(JsonTest, UnknownKeysAreIgnored) {
  const auto spec = SandboxSpecFromJson(
      R"({"name":"a","from_the_future":{"x":[1]},"namespaces":{"user":"pod","network":"node"}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "a");
  EXPECT_EQ(spec->namespaces.network, NamespaceMode::kNode);
  EXPECT_EQ(spec->namespaces.pid, NamespaceMode::kContainer);
}

TEST(JsonTest, BytesThatAreNotUtf8DoNotThrow) {
  SandboxSpec spec;
  spec.name = "a\xff";
  EXPECT_EQ(SandboxSpecFromJson(ToJson(spec)).value().name, "a\xEF\xBF\xBD");
}

TEST(JsonTest, VariablesAreAnyBytes) {
  ContainerSpec spec;
  spec.environment = {{"BYTES", "a\xff\x80"}, {"TEXT", "\xc3\xa4\xEF\xBF\xBD"}, {"NONE", ""}};
  const std::string text = ToJson(spec);
  EXPECT_THAT(text, HasSubstr("{\"name\":\"BYTES\",\"value\":\"a\xEF\xBF\xBD\xEF\xBF\xBD\","
                              "\"value_base64\":\"Yf+A\"}"));
  EXPECT_EQ(ContainerSpecFromJson(text).value().environment, spec.environment);
  const auto wrong =
      ContainerSpecFromJson(R"({"environment":[{"name":"A","value":"b","value_base64":"?"}]})");
  EXPECT_THAT(std::string(wrong.status().message()),
              HasSubstr("member 'environment[0].value_base64': expected base64"));
  EXPECT_EQ(ContainerSpecFromJson(R"({"environment":[{"name":"A","value":"b"}]})")
                .value()
                .environment[0]
                .second,
            "b");
}

struct Wrong {
  const char* text;
  const char* message;
};

class JsonErrorTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(JsonErrorTest, NamesMemberAndExpectation) {
  const absl::Status status = ContainerSpecFromJson(GetParam().text).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << GetParam().text;
  EXPECT_EQ(status.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonErrorTest,
    ::testing::Values(
        Wrong{"", "container spec: not valid JSON"}, Wrong{"{", "container spec: not valid JSON"},
        Wrong{"[]", "container spec: expected an object, found array"},
        Wrong{"null", "container spec: expected an object, found null"},
        Wrong{R"({"name":1})", "container spec: member 'name': expected a string, found number"},
        Wrong{R"({"name":null})", "container spec: member 'name': expected a string, found null"},
        Wrong{R"({"tty":1})", "container spec: member 'tty': expected true or false, found number"},
        Wrong{R"({"attempt":-1})",
              "container spec: member 'attempt': -1 is out of range, 0 to 4294967295"},
        Wrong{R"({"attempt":1.5})",
              "container spec: member 'attempt': expected an integer, found number"},
        Wrong{R"({"oom_score_adj":18446744073709551615})",
              "container spec: member 'oom_score_adj': 18446744073709551615 is out of range, "
              "-2147483648 to 2147483647"},
        Wrong{R"({"args":["a",{}]})",
              "container spec: member 'args[1]': expected a string, found object"},
        Wrong{R"({"args":{}})", "container spec: member 'args': expected a list, found object"},
        Wrong{R"({"mounts":[{},{"propagation":"sideways"}]})",
              "container spec: member 'mounts[1].propagation': unknown value \"sideways\", valid: "
              "private, host_to_container, bidirectional"},
        Wrong{R"({"annotations":{"a":1}})",
              "container spec: member 'annotations.a': expected a string, found number"},
        Wrong{R"({"resources":{"hugetlb_limits":[]}})",
              "container spec: member 'resources.hugetlb_limits': expected an object, found "
              "array"}));

}  // namespace
}  // namespace plimsoll::runtime
