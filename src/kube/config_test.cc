#include "kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/dir_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::HasSubstr;

const char* NoEnvironment(const char*) {
  return nullptr;
}

absl::StatusOr<KubeProgramConfig> LoadText(const std::string& text, ConfigFlags flags = {},
                                           const Environment& environment = NoEnvironment) {
  const TestDir dir;
  EXPECT_TRUE(dir.root().ReplaceFile("c.yaml", text).ok());
  flags.config = dir.root().PathOf("c.yaml");
  return LoadConfig(flags, environment);
}

std::string FaultOf(const std::string& text) {
  return std::string(LoadText(text).status().message());
}

TEST(KubeConfigTest, AnEmptyFileIsTheDefaults) {
  const auto config = ParseConfig("", "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->runtime_socket, "/run/plimsoll/cluster/cluster.sock");
  EXPECT_EQ(config->kubelet_root, "/var/lib/kubelet");
  EXPECT_EQ(config->metrics_address, "");
  EXPECT_TRUE(config->publish.conditions);
  EXPECT_THAT(config->publish.labels, testing::IsEmpty());
}

TEST(KubeConfigTest, EveryKeyIsRead) {
  const auto config = ParseConfig(
      "nodeName: n1\nkubeconfig: /k\nruntimeSocket: /r.sock\nkubeletRoot: /kubelet\n"
      "stateDirectory: /state\nmetricsAddress: '[::1]:1'\nlogging: {format: json, level: debug}\n"
      "publish: {labels: [classes], annotations: [topology], conditions: false, events: false,\n"
      "          topology: false, topologyManager: {policy: restricted, scope: pod}}\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->node_name, "n1");
  EXPECT_EQ(config->kubeconfig, "/k");
  EXPECT_EQ(config->runtime_socket, "/r.sock");
  EXPECT_EQ(config->kubelet_root, "/kubelet");
  EXPECT_EQ(config->state_directory, "/state");
  EXPECT_EQ(config->metrics_address, "[::1]:1");
  EXPECT_EQ(config->log_format, "json");
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_THAT(config->publish.labels, testing::ElementsAre("classes"));
  EXPECT_THAT(config->publish.annotations, testing::ElementsAre("topology"));
  EXPECT_FALSE(config->publish.conditions);
  EXPECT_FALSE(config->publish.events);
  EXPECT_FALSE(config->publish.topology);
  EXPECT_EQ(config->publish.topology_manager_policy, "restricted");
  EXPECT_EQ(config->publish.topology_manager_scope, "pod");
}

struct WrongConfig {
  const char* text;
  const char* message;
};
class KubeConfigMistakeTest : public testing::TestWithParam<WrongConfig> {};

TEST_P(KubeConfigMistakeTest, IsNamed) {
  EXPECT_THAT(FaultOf(GetParam().text), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, KubeConfigMistakeTest,
    testing::Values(
        WrongConfig{"nodename: n", "unknown field \"nodename\"; did you mean"},
        WrongConfig{"nodeName: N1", "c.yaml:1:1: nodeName: \"N1\" must be lower-case"},
        WrongConfig{"nodeName: a..b", "c.yaml:1:1: nodeName: \"a..b\""},
        WrongConfig{"nodeName: -a", "c.yaml:1:1: nodeName: \"-a\""},
        WrongConfig{"kubeconfig: k", "kubeconfig: \"k\" must be an absolute path"},
        WrongConfig{"stateDirectory: s", "stateDirectory: \"s\""},
        WrongConfig{"kubeletRoot: k", "kubeletRoot: \"k\""},
        WrongConfig{"runtimeSocket: r", "c.yaml:1:1: runtimeSocket: socket path is \"r\""},
        WrongConfig{"kubeletRoot: /a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/"
                    "a/b/c/d/e/f",
                    "kubeletRoot: socket path is "},
        WrongConfig{"metricsAddress: 127.0.0.1:99999",
                    "metricsAddress: \"127.0.0.1:99999\" must be an IP address"},
        WrongConfig{"metricsAddress: ':19467'", "metricsAddress: \":19467\""},
        WrongConfig{"metricsAddress: 127.0.0.1", "metricsAddress: \"127.0.0.1\""},
        WrongConfig{"publish: {labels: [colour]}", "c.yaml:1:11: publish.labels: \"colour\""},
        WrongConfig{"publish: {label: []}", "unknown field \"label\""},
        WrongConfig{"publish: {topologyManager: {policy: x}}", "publish.topologyManager.policy"},
        WrongConfig{"nodeName: n\npublish:\n  topologyManager: {scope: pod}",
                    "c.yaml:3:21: publish.topologyManager.scope: \"pod\" needs"},
        WrongConfig{"logging: {level: loud}", "logging.level"},
        WrongConfig{"a: 1\n---\nb: 2", "more than one document"}, WrongConfig{"a: [", "c.yaml"}));

TEST(KubeConfigTest, FlagsAreInForceOverTheFile) {
  ConfigFlags flags;
  flags.node_name = "n2";
  flags.kubeconfig = "/k2";
  flags.runtime_socket = "/r2.sock";
  flags.kubelet_root = "/kubelet2";
  flags.state_directory = "/state2";
  flags.metrics_address = "127.0.0.1:2";
  flags.log_level = "error";
  const auto config = LoadText("nodeName: n1\nkubeconfig: /k\n", flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->node_name, "n2");
  EXPECT_EQ(config->kubeconfig, "/k2");
  EXPECT_EQ(config->runtime_socket, "/r2.sock");
  EXPECT_EQ(config->kubelet_root, "/kubelet2");
  EXPECT_EQ(config->state_directory, "/state2");
  EXPECT_EQ(config->metrics_address, "127.0.0.1:2");
  EXPECT_EQ(config->log_level, "error");
}

TEST(KubeConfigTest, AFlagsValueHasNoPlace) {
  ConfigFlags flags;
  flags.node_name = "N2";
  const absl::Status status = LoadText("nodeName: n1\n", flags).status();
  EXPECT_TRUE(absl::StartsWith(status.message(), "nodeName: \"N2\"")) << status;
}

TEST(KubeConfigTest, ThePodsEnvironmentNamesTheNode) {
  const auto environment = [](const char* name) {
    return std::string(name) == "NODE_NAME" ? "n7" : nullptr;
  };
  EXPECT_EQ(LoadText("", {}, environment)->node_name, "n7");
  EXPECT_EQ(LoadText("nodeName: n1\n", {}, environment)->node_name, "n1");
}

TEST(KubeConfigTest, AMissingFileThatIsNamedIsAnError) {
  ConfigFlags flags;
  flags.config = "/nonexistent/plimsoll-kube.yaml";
  EXPECT_EQ(LoadConfig(flags, NoEnvironment).status().code(), absl::StatusCode::kNotFound);
}

std::string SourceFile(const std::string& name) {
  const auto root = FsRoot::Open(PLIMSOLL_SOURCE_DIRECTORY);
  const auto text = root->Read(name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

TEST(KubeConfigTest, TheInstalledFileIsTheDefaults) {
  const std::string text = SourceFile("packaging/plimsoll-kube.yaml");
  const auto config = ParseConfig(text, "plimsoll-kube.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->runtime_socket, KubeProgramConfig().runtime_socket);
  EXPECT_EQ(config->kubelet_root, KubeProgramConfig().kubelet_root);
  EXPECT_EQ(config->state_directory, KubeProgramConfig().state_directory);
  // The file's lines that are commented out are right too.
  std::string all;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view key = line;
    const bool is_key = absl::ConsumePrefix(&key, "# ") && key.find(": ") < key.find(' ');
    absl::StrAppend(&all, is_key ? key : line, "\n");
  }
  const auto whole = ParseConfig(all, "plimsoll-kube.yaml");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_NE(whole->kubeconfig, "");
  EXPECT_NE(whole->metrics_address, "");
}

TEST(KubeConfigTest, TheManualHasEveryKey) {
  const std::string manual = SourceFile("docs/man/plimsoll-kube.yaml.5");
  for (const char* key :
       {"nodeName", "kubeconfig", "runtimeSocket", "kubeletRoot", "stateDirectory",
        "metricsAddress", "publish", "labels", "annotations", "conditions", "events", "topology",
        "topologyManager", "policy", "scope", "logging", "format", "level"}) {
    EXPECT_THAT(manual, HasSubstr(key));
  }
}

}  // namespace
}  // namespace plimsoll::kube
