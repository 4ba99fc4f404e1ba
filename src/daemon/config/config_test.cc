#include "daemon/config/config.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// For keys that are in no mapping.
TEST(ConfigTest, AKeyOfASectionIsFoundFromOutside) {
  const auto said = [](const char* text) {
    const absl::Status status = ParseConfig(text, "f.yaml").status();
    return std::string(status.message().substr(0, status.message().find(" Valid here: ")));
  };
  const std::string level = "; did you mean 'level' below 'log'?";
  EXPECT_EQ(said("log_level: debug\n"), "f.yaml:1:1: unknown key 'log_level'" + level);
  EXPECT_EQ(said("logLevel: debug\n"), "f.yaml:1:1: unknown key 'logLevel'" + level);
  EXPECT_EQ(said("ClassResource: true\n"),
            "f.yaml:1:1: unknown key 'ClassResource'; did you mean 'ClassResources' below "
            "'feature_gates'?");
}

TEST(ConfigTest, NothingIsTheDefaults) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "{}"}) {
    const auto config = ParseConfig(text, "f");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(*config, Config()) << text;
  }
}

TEST(ConfigTest, EveryKeyIsRead) {
  const auto config = ParseConfig(R"(
address: unix:///run/a/b.sock
socket_group: wheel
state_dir: /srv/plimsoll/
run_dir: /run/p
log: {level: debug, format: json}
metrics:
  address: "[::1]:9464"
crun: /opt/crun
cdi_spec_dirs: [/opt/cdi/]
network:
  config_dir: ""
  plugin_dirs: [/opt/cni/]
  plugin_timeout: 5
  interfaces: [eth0, net1]
  collect_garbage: true
  unprivileged_ports: false
  unprivileged_ping: false
kube: {socket: /run/k.sock, socket_group: kube}
cgroup_parent: /a//b/
cgroup_driver: systemd
restrict_oom_score_adj: true
image_volumes: noexec
volumes: ignore
exec: crun
workers: 3
event_log:
  capacity: 10
registries:
  insecure: [registry.local:5000, other]
  file: /etc/plimsoll/registries.conf
images:
  pinned: [pause, registry.local/base/*]
feature_gates:
  ClassResources: false
  NodeResourceHotPlug: true
)",
                                  "f");
  ASSERT_TRUE(config.ok()) << config.status();
  Config expected;
  expected.address = "unix:///run/a/b.sock";
  expected.socket_group = "wheel";
  expected.state_dir = "/srv/plimsoll";
  expected.run_dir = "/run/p";
  expected.log = {"debug", "json"};
  expected.metrics_address = "[::1]:9464";
  expected.crun = "/opt/crun";
  expected.cdi_spec_dirs = {"/opt/cdi"};
  expected.network = {.config_dir = "",
                      .plugin_dirs = {"/opt/cni"},
                      .plugin_timeout = 5,
                      .interfaces = {"eth0", "net1"},
                      .collect_garbage = true,
                      .unprivileged_ports = false,
                      .unprivileged_ping = false};
  expected.kube = {.socket = "/run/k.sock", .socket_group = "kube"};
  expected.cgroup_parent = "/a/b";
  expected.cgroup_driver = "systemd";
  expected.restrict_oom_score_adj = "true";
  expected.image_volumes = "noexec";
  expected.volumes = "ignore";
  expected.exec = "crun";
  expected.workers = 3;
  expected.event_log_capacity = 10;
  expected.insecure_registries = {"registry.local:5000", "other"};
  expected.registries_file = "/etc/plimsoll/registries.conf";
  expected.pinned_images = {"pause", "registry.local/base/*"};
  ASSERT_TRUE(expected.feature_gates.Set("ClassResources=false").ok());
  EXPECT_EQ(*config, expected);
  EXPECT_EQ(SocketPath(*config), "/run/a/b.sock");
}

struct Wrong {
  std::string text;
  std::string message;
};

class ConfigErrorTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(ConfigErrorTest, SaysWhereAndWhatIsRight) {
  const absl::Status status = ParseConfig(GetParam().text, "f.yaml").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << GetParam().text;
  EXPECT_EQ(std::string(status.message()), GetParam().message) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigErrorTest,
    ::testing::Values(
        Wrong{"workers: 4\nadress: x\n",
              "f.yaml:2:1: unknown key 'adress'; did you mean 'address'? Valid here: address, "
              "socket_group, state_dir, "
              "run_dir, log, metrics, crun, cdi_spec_dirs, network, streaming, kube, kubelet, "
              "nri, cgroup_parent, "
              "cgroup_driver, restrict_oom_score_adj, image_volumes, volumes, exec, workers, "
              "event_log, "
              "registries, "
              "images, feature_gates, "
              "classes, "
              "nodeResources, runtime_handlers"},
        Wrong{"kube: {socket: run/k.sock}\n",
              "f.yaml:1:16: kube.socket: expected auto, the absolute path of a socket, or nothing "
              "for none, found 'run/k.sock'"},
        Wrong{"network: {plugin_dirs: [\"/a:b\"]}\n",
              "f.yaml:1:25: network.plugin_dirs: expected a path without ':', found '/a:b'"},
        Wrong{"nri: {socket: nri.sock}\n",
              "f.yaml:1:15: nri.socket: expected auto or the absolute path of a socket "
              "(nri.external: false for none), found 'nri.sock'"},
        Wrong{"nri: {plugins: {a b: {}, x: {strikes: 1001}, y: {require: true}}}\n",
              "f.yaml:1:22: nri.plugins.a b: expected a plugin's name, as in 10-pinner, or pinner "
              "for any index, found 'a b'\n"
              "f.yaml:1:39: nri.plugins.x.strikes: must be from 0 to 1000\n"
              "f.yaml:1:50: nri.plugins.y: unknown field \"require\"; did you mean \"required\"?"},
        Wrong{"nri: {plugins: [10-a]}\n", "f.yaml:1:16: nri.plugins: expected a mapping"},
        Wrong{"nri: {default_policy: {strikes: -1}}\n",
              "f.yaml:1:33: nri.default_policy.strikes: expected an integer from 0 to 1000, found "
              "'-1'"},
        Wrong{"nri: {validator: {required_plugins: [a/b]}}\n",
              "f.yaml:1:38: nri.validator.required_plugins: expected a plugin's name, as in "
              "10-pinner, or pinner for any index, found 'a/b'"},
        Wrong{"nri: {validator: {tolerate_missing_annotation: a b}}\n",
              "f.yaml:1:48: nri.validator.tolerate_missing_annotation: expected an annotation's "
              "name, or nothing for none, found 'a b'"},
        Wrong{"nri: {plugin: {}}\n",
              "f.yaml:1:7: unknown key 'nri.plugin'; did you mean 'plugins'? Valid here: enabled, "
              "socket, external, plugin_dir, config_dir, registration_timeout_ms, "
              "request_timeout_ms, default_policy, validator, plugins"},
        Wrong{"network: {interfaces: [eth0, an-interface-of-more]}\n",
              "f.yaml:1:30: network.interfaces: expected an interface's name, as in eth0, found "
              "'an-interface-of-more'"},
        Wrong{"network: {plugin_timeout: 0}\n",
              "f.yaml:1:27: network.plugin_timeout: expected an integer from 1 to 600, found '0'"},
        Wrong{"network: {collect_garbage: maybe}\n",
              "f.yaml:1:28: network.collect_garbage: expected true or false, found 'maybe'"},
        Wrong{"log:\n  levl: info\n",
              "f.yaml:2:3: unknown key 'log.levl'; did you mean 'level'? Valid here: level, "
              "format"},
        Wrong{
            "zzzz: 1\nworkers: 0\nlog: {format: loud}\nnodeResources: {pollInterval: 5, cpu: {}}\n",
            "f.yaml:1:1: unknown key 'zzzz', valid here: address, socket_group, state_dir, "
            "run_dir, log, metrics, crun, cdi_spec_dirs, network, streaming, kube, kubelet, "
            "nri, cgroup_parent, "
            "cgroup_driver, restrict_oom_score_adj, image_volumes, volumes, exec, workers, "
            "event_log, "
            "registries, images, feature_gates, classes, nodeResources, runtime_handlers\n"
            "f.yaml:2:10: workers: expected an integer from 1 to 1024, found '0'\n"
            "f.yaml:3:15: log.format: expected one of text, json, found 'loud'\n"
            "f.yaml:4:31: nodeResources.pollInterval: expected a duration from 100ms to 1h, with "
            "its unit, as in 5s\n"
            "f.yaml:4:34: nodeResources: unknown field \"cpu\"; did you mean \"cpus\"?"},
        Wrong{"log.level: info\n",
              "f.yaml:1:1: log.level: write it as log: with level: indented below"},
        Wrong{"log:\n  level: loud\n",
              "f.yaml:2:10: log.level: expected one of debug, info, warning, error, found 'loud'"},
        Wrong{"log: debug\n",
              "f.yaml:1:6: log: expected a mapping of keys to values, found 'debug'"},
        Wrong{"log:\n", "f.yaml:1:1: key 'log' has no value; leave it out for its default"},
        Wrong{"- address\n", "f.yaml:1:1: expected a mapping of keys to values, found a list"},
        Wrong{"address: [a]\n", "f.yaml:1:10: address: expected text, found a list"},
        Wrong{"address:\n", "f.yaml:1:1: key 'address' has no value; leave it out for its default"},
        Wrong{"address: tcp://127.0.0.1:1\n",
              "f.yaml:1:10: address: expected unix:// and an absolute path, as in "
              "unix:///run/plimsoll/plimsoll.sock, found 'tcp://127.0.0.1:1'"},
        Wrong{"state_dir: \"/x/a\\0b\"\n", "f.yaml:1:12: state_dir: must not have a NUL"},
        Wrong{"nodeResources: {source: {file: \"/x/a\\0b\"}}\n",
              "f.yaml:1:32: nodeResources.source.file: must not have a NUL"},
        Wrong{"state_dir: var\n",
              "f.yaml:1:12: state_dir: expected the absolute path of a directory (without '.' and "
              "'..'), found 'var'"},
        Wrong{"run_dir: /run/../etc\n",
              "f.yaml:1:10: run_dir: expected the absolute path of a directory (without '.' and "
              "'..'), found '/run/../etc'"},
        Wrong{"state_dir: //\n",
              "f.yaml:1:12: state_dir: expected the absolute path of a directory (without '.' and "
              "'..'), found '//'"},
        Wrong{"workers: many\n",
              "f.yaml:1:10: workers: expected an integer from 1 to 1024, found 'many'"},
        Wrong{"workers: 0\n",
              "f.yaml:1:10: workers: expected an integer from 1 to 1024, found '0'"},
        Wrong{"workers: \"4\"\n", "f.yaml:1:10: workers: expected an integer, found '4'"},
        Wrong{"workers: 1.5\n",
              "f.yaml:1:10: workers: expected an integer from 1 to 1024, found '1.5'"},
        Wrong{"metrics: {address: localhost:80}\n",
              "f.yaml:1:20: metrics.address: expected an IP address and a port, as in "
              "127.0.0.1:9464, or nothing for no metrics, found 'localhost:80'"},
        Wrong{"cdi_spec_dirs: [cdi]\n",
              "f.yaml:1:17: cdi_spec_dirs: expected the absolute path of a directory (without '.' "
              "and '..'), found 'cdi'"},
        Wrong{"crun: crun\n",
              "f.yaml:1:7: crun: expected the absolute path of a program, or nothing to look in "
              "PATH, found 'crun'"},
        Wrong{"cgroup_parent: /a/../b\n",
              "f.yaml:1:16: cgroup_parent: expected the path of a control group, as in /plimsoll, "
              "found '/a/../b'"},
        Wrong{"registries: {insecure: host}\n",
              "f.yaml:1:24: registries.insecure: expected a list of texts, found 'host'"},
        Wrong{"registries:\n  insecure:\n    - ok\n    - http://x/\n",
              "f.yaml:4:7: registries.insecure: expected a registry's host or host:port, as in "
              "registry.local:5000, found 'http://x/'"},
        Wrong{"registries: {file: registries.conf}\n",
              "f.yaml:1:20: registries.file: expected the absolute path of a file, or nothing for "
              "/etc/containers/registries.conf, found 'registries.conf'"},
        Wrong{"images:\n  pinned: ['*/pause']\n",
              "f.yaml:2:12: images.pinned: expected an image's name or id, or the beginning of a "
              "full name and *, as in registry.local/base/*, found '*/pause'"},
        Wrong{"feature_gates:\n  Warp: true\n",
              "f.yaml:2:3: feature_gates: unknown feature gate 'Warp', there are ClassResources, "
              "InPlacePodVerticalScaling, KubeletContainerResourcesInPodSandbox, "
              "KubeletResourceDiscoveryFromCRI, NodeResourceHotPlug, "
              "PodLevelResourceManagers"},
        Wrong{"feature_gates: {ClassResource: true}\n",
              "f.yaml:1:17: feature_gates: unknown feature gate 'ClassResource'; did you mean "
              "'ClassResources'?"},
        Wrong{"feature_gates:\n  ClassResources: maybe\n",
              "f.yaml:2:3: feature_gates: feature gate ClassResources: expected true or false, "
              "found 'maybe'"},
        Wrong{"feature_gates:\n  ClassResources: \"true\"\n",
              "f.yaml:2:19: feature_gates.ClassResources: expected true or false, found 'true'"},
        Wrong{"workers: 1\nlog: {}\nworkers: 2\n",
              "f.yaml:3:1: key 'workers' is there twice, first in line 1"},
        Wrong{"workers: 1\n---\nworkers: 2\n",
              "f.yaml:3:1: a second document; one file holds one configuration"},
        Wrong{"log: {level: info\n", "f.yaml:2:1: not valid YAML: end of map flow not found"}));

TEST(ConfigTest, TheSocketIsInTheRunDirectoryUnlessSaid) {
  EXPECT_EQ(SocketPath(Config()), "/run/plimsoll/plimsoll.sock");
  EXPECT_EQ(SocketPath(*ParseConfig("run_dir: /run/x", "f")), "/run/x/plimsoll.sock");
  EXPECT_EQ(SocketPath(*ParseConfig("address: unix:///a/b", "f")), "/a/b");
}

TEST(ConfigTest, TheClusterSocketIsInTheRunDirectoryUnlessSaid) {
  EXPECT_EQ(ClusterSocketPath(Config()), "/run/plimsoll/cluster/cluster.sock");
  EXPECT_EQ(ClusterSocketPath(*ParseConfig("run_dir: /run/x", "f")), "/run/x/cluster/cluster.sock");
  EXPECT_EQ(ClusterSocketPath(*ParseConfig("kube: {socket: /a/b}", "f")), "/a/b");
  EXPECT_EQ(ClusterSocketPath(*ParseConfig("kube: {socket: \"\"}", "f")), "");
}

TEST(ConfigTest, ValidateLooksAtTheClusterSocket) {
  Config config;
  config.kube.socket_group = "plimsoll-test-none";
  EXPECT_THAT(
      ValidateConfig(config).message(),
      HasSubstr("kube.socket_group: there is no group 'plimsoll-test-none' on this machine"));
  config.kube.socket_group = "root";
  config.kube.socket = "/" + std::string(106, 'a');
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("kube.socket: the path of a socket has at most 106 bytes, /aaa"));
  config.kube.socket = "/run/plimsoll/plimsoll.sock";
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("address and kube.socket: the two sockets must differ"));
  config.kube.socket = "/run/plimsoll/kube.sock";
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ConfigTest, ValidateFindsKeysThatCanDoNothing) {
  Config config;
  config.kube.socket = "";
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
  config.kube.socket_group = "root";
  EXPECT_THAT(ValidateConfig(config).message(), HasSubstr("kube.socket_group: kube.socket is"));
  config.kube.socket_group = "";
  config.classes.from = qos::ClassesFrom::kScheduler;
  EXPECT_THAT(CheckScheduler(config).message(),
              HasSubstr("classes.from: 'scheduler' needs kube.socket"));
  config.kube.socket = "auto";
  EXPECT_TRUE(CheckScheduler(config).ok());
}

TEST(ConfigTest, TheSectionOfPluginsIsRead) {
  const auto config = ParseConfig(R"(
nri:
  enabled: true
  socket: /run/n.sock
  external: true
  plugin_dir: ""
  config_dir: /etc/nri/
  registration_timeout_ms: 100
  request_timeout_ms: 50
  default_policy: {required: true, strikes: 0}
  plugins: {10-a: {required: true}, b: {strikes: 7}}
  validator:
    reject_oci_hooks: true
    reject_runtime_default_seccomp: true
    reject_unconfined_seccomp: true
    reject_custom_seccomp: true
    reject_namespaces: true
    reject_sysctls: true
    required_plugins: [10-a, b]
    tolerate_missing_annotation: example.com/without
)",
                                  "f");
  ASSERT_TRUE(config.ok()) << config.status();
  const nri::NriSettings expected = {
      .socket = "/run/n.sock",
      .plugin_dir = "",
      .config_dir = "/etc/nri",
      .registration_timeout_ms = 100,
      .request_timeout_ms = 50,
      .default_policy = {.required = true, .strikes = 0},
      .policies = {{"10-a", {.required = true}}, {"b", {.strikes = 7}}},
      .validator = {.reject_oci_hooks = true,
                    .reject_runtime_default_seccomp = true,
                    .reject_unconfined_seccomp = true,
                    .reject_custom_seccomp = true,
                    .reject_namespaces = true,
                    .reject_sysctls = true,
                    .required_plugins = {"10-a", "b"},
                    .tolerate_missing_annotation = "example.com/without"}};
  EXPECT_EQ(config->nri, expected);
}

TEST(ConfigTest, PluginsSocketIsWhereTheyLookForThatOfTheMachinesDaemon) {
  EXPECT_EQ(NriSocketPath(Config()), "/var/run/nri/nri.sock");
  EXPECT_EQ(NriSocketPath(*ParseConfig("run_dir: /run/x", "f")), "/run/x/nri/nri.sock");
  EXPECT_EQ(NriSocketPath(*ParseConfig("nri: {socket: /a/b}", "f")), "/a/b");
  EXPECT_EQ(NriSocketPath(*ParseConfig("nri: {external: false}", "f")), "");
  EXPECT_EQ(NriSocketPath(*ParseConfig("nri: {enabled: false}", "f")), "");
}

TEST(ConfigTest, ValidateLooksAtThePluginsSocket) {
  Config config;
  config.nri.socket = "/" + std::string(106, 'a');
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("nri.socket: the path of a socket has at most 106 bytes, /aaa"));
  config.nri.socket = SocketPath(config);
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("address and nri.socket: the two sockets must differ"));
  config.nri.socket = ClusterSocketPath(config);
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("kube.socket and nri.socket: the two sockets must differ"));
  config.nri.external = false;
  config.kube.socket = "";
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ConfigTest, LoadNamesTheFileAndTheReason) {
  TestDir dir;
  const std::string path = dir.root().PathOf("c.yaml");
  const absl::Status missing = LoadConfig(path).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(missing.message(), HasSubstr("configuration " + path + ": "));
  EXPECT_THAT(missing.message(), HasSubstr("No such file or directory"));

  ASSERT_TRUE(dir.root().MakeDirs("d").ok());
  EXPECT_THAT(LoadConfig(dir.root().PathOf("d")).status().message(),
              HasSubstr("d: is a directory, not a regular file"));
  const std::string fifo = dir.root().PathOf("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(LoadConfig(fifo).status().message(),
              HasSubstr(fifo + ": is a FIFO, not a regular file"));

  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", "workers: x").ok());
  EXPECT_THAT(LoadConfig(path).status().message(), HasSubstr(path + ":1:10: workers: "));
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", "workers: 2").ok());
  EXPECT_EQ(LoadConfig(path)->workers, 2);
}

TEST(ConfigTest, AKeyOfAnOlderVersionIsNamed) {
  EXPECT_EQ(ParseConfig("workers: 2\nconmon: /usr/bin/conmon\n", "f.yaml").status().message(),
            "f.yaml:2:1: key 'conmon' is of an older version; leave it out: containers have "
            "monitors of Plimsoll's own");
}

// The file's keys and the flags set the same options.
TEST(ConfigTest, FlagsSetTheSameKeys) {
  Config config;
  ASSERT_TRUE(SetOption(config, "log.level", "error").ok());
  ASSERT_TRUE(SetOption(config, "registries.insecure", "a:1,b").ok());
  ASSERT_TRUE(SetOption(config, "registries.insecure", "b,c").ok());
  ASSERT_TRUE(SetOption(config, "feature_gates", "ClassResources=false").ok());
  EXPECT_EQ(config.log.level, "error");
  EXPECT_THAT(config.insecure_registries, ElementsAre("b", "c"));
  EXPECT_FALSE(config.feature_gates.enabled("ClassResources"));
  EXPECT_EQ(SetOption(config, "workers", "-1").message(),
            "expected an integer from 1 to 1024, found '-1'");
  EXPECT_FALSE(SetOption(config, "nothing", "1").ok());
}

TEST(ConfigTest, ValidateLooksAtTheWholeAndTheMachine) {
  Config config;
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.run_dir = "/var/lib/plimsoll/run";
  EXPECT_THAT(ValidateConfig(config).message(), HasSubstr("neither may lie in the other"));
  config.run_dir = "/var/lib/plimsoll-run";
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.socket_group = "plimsoll-test-none";
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("socket_group: there is no group 'plimsoll-test-none' on this machine"));
  config.socket_group = "root";
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.crun = "/nonexistent/crun";
  config.address = "unix:///" + std::string(106, 'a');
  EXPECT_THAT(ValidateConfig(config).message(),
              HasSubstr("address: the path of a socket has at most 106 bytes, /aaa"));
  config.address = "unix:///" + std::string(105, 'a');
  EXPECT_EQ(ValidateConfig(config).message(),
            "crun: no program at /nonexistent/crun: No such file or directory");
}

TEST(ConfigTest, RuntimeHandlersAreInTheFileOnly) {
  auto config = ParseConfig(
      "runtime_handlers:\n  vm: {kind: vm, update_command: [/nonexistent/resize]}\n", "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->runtime_handlers.at("vm").is_vm);
  EXPECT_THAT(ValidateConfig(*config).message(),
              HasSubstr("runtime_handlers.vm.update_command: no program at /nonexistent/resize"));
  config->runtime_handlers["vm"].update_command.clear();
  config->runtime_handlers["vm"].program = "/nonexistent/krun";
  EXPECT_THAT(ValidateConfig(*config).message(),
              HasSubstr("runtime_handlers.vm.program: no program at /nonexistent/krun"));
  EXPECT_EQ(ParseConfig("runtime_handlers: {vm: {kind: box}}\n", "f.yaml").status().message(),
            "f.yaml:1:31: runtime_handlers.vm.kind: \"box\" is not one of container, vm");
}

// The installed file names every key and changes nothing.
TEST(ConfigTest, PackagedFileIsTheDefaults) {
  const auto packaged = LoadConfig(PLIMSOLL_SOURCE_DIR "/packaging/plimsolld.yaml");
  ASSERT_TRUE(packaged.ok()) << packaged.status();
  EXPECT_EQ(*packaged, Config());

  const std::string text =
      FsRoot::Open(PLIMSOLL_SOURCE_DIR "/packaging")->Read("plimsolld.yaml").value();
  const std::string manual =
      FsRoot::Open(PLIMSOLL_SOURCE_DIR "/docs/man")->Read("plimsolld.yaml.5").value();
  for (const OptionName& option : OptionNames()) {
    const std::string key = option.key;
    const std::string last = key.substr(key.rfind('.') + 1);
    const size_t depth = static_cast<size_t>(absl::c_count(key, '.'));
    EXPECT_THAT(text, HasSubstr("\n" + std::string(2 * depth, ' ') + last + ":")) << key;
    EXPECT_THAT(manual, HasSubstr(".B " + key + "\n")) << key;
  }
}

TEST(FeatureGatesTest, KubeletsSyntax) {
  FeatureGates gates;
  EXPECT_TRUE(gates.enabled("ClassResources"));
  EXPECT_TRUE(gates.Set("").ok());
  EXPECT_EQ(gates, FeatureGates());
  EXPECT_TRUE(gates.Set(" ClassResources = false , NodeResourceHotPlug=false,").ok());
  EXPECT_FALSE(gates.enabled("ClassResources"));
  EXPECT_FALSE(gates.enabled("NodeResourceHotPlug"));
  EXPECT_TRUE(gates.enabled("InPlacePodVerticalScaling"));
}

TEST(FeatureGatesTest, AnErrorChangesNothing) {
  FeatureGates gates;
  EXPECT_THAT(gates.Set("ClassResources=false,Nope=true").message(),
              HasSubstr("unknown feature gate 'Nope', there are ClassResources, "));
  EXPECT_THAT(gates.Set("ClassResources").message(), HasSubstr("expected true or false, found ''"));
  EXPECT_THAT(gates.Set("ClassResources=1").message(), HasSubstr("found '1'"));
  EXPECT_EQ(gates, FeatureGates());
}

}  // namespace
}  // namespace plimsoll::daemon
