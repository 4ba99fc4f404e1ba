#include "agent/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

std::optional<EarlyExit> Parse(std::vector<const char*> arguments, AgentFlags& flags) {
  arguments.insert(arguments.begin(), "plimsoll-agent");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data(), "1.0", flags);
}

TEST(AgentConfigTest, AnEmptyFileIsTheDefaults) {
  const auto config = ParseConfig("", "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_pods, 110);
  EXPECT_EQ(config->resource_discovery, "auto");
  EXPECT_FALSE(config->evict_after_capacity_shrinks);
  EXPECT_TRUE(config->feature_gates.enabled("ClassResources"));
}

TEST(AgentConfigTest, KeysAreKubelets) {
  const auto config = ParseConfig(
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
      "staticPodPath: /m\nsystemReserved: {cpu: 500m, memory: 1Gi}\nmaxPods: 20\n"
      "featureGates: {ClassResources: false}\nresourceDiscovery: cri\npodPidsLimit: 100\n"
      "nodeLabels: {zone: a}\nlogging: {format: json, level: debug}\ncgroupDriver: systemd\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->static_pod_path, "/m");
  EXPECT_EQ(config->system_reserved.at("cpu").MilliValue(), 500);
  EXPECT_EQ(config->max_pods, 20);
  EXPECT_FALSE(config->feature_gates.enabled("ClassResources"));
  EXPECT_EQ(config->resource_discovery, "cri");
  EXPECT_EQ(config->pod_pids_limit, 100);
  EXPECT_EQ(config->node_labels.at("zone"), "a");
  EXPECT_EQ(config->log_format, "json");
  EXPECT_EQ(config->cgroup_driver, "systemd");
}

struct Wrong {
  const char* text;
  const char* message;
};
class AgentConfigMistakeTest : public testing::TestWithParam<Wrong> {};

TEST_P(AgentConfigMistakeTest, IsNamedWithItsPlace) {
  const absl::Status status = ParseConfig(GetParam().text, "f.yaml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, AgentConfigMistakeTest,
    testing::Values(Wrong{"maxPod: 3", "f.yaml:1:1: unknown field \"maxPod\"; did you mean"},
                    Wrong{"maxPods: 0", "f.yaml:1:10: maxPods: "},
                    Wrong{"staticPodPath: manifests", "must be an absolute path"},
                    Wrong{"systemReserved: {cpu: x}", "systemReserved.cpu"},
                    Wrong{"systemReserved: {cpu: '-1'}", "must not be negative"},
                    Wrong{"featureGates: {ClassResource: true}", "did you mean 'ClassResources'?"},
                    Wrong{"resourceDiscovery: cadvisor", "resourceDiscovery"},
                    Wrong{"containerLogMaxSize: much", "containerLogMaxSize: "},
                    Wrong{"containerLogMaxSize: 0", "negative for logs without a limit"},
                    Wrong{"containerLogMaxFiles: 1", "containerLogMaxFiles: "},
                    Wrong{"containerLogMonitorInterval: 1s", "a duration from 3s to 24h"},
                    Wrong{"containerLogMonitorInterval: often", "a duration from 3s to 24h"},
                    Wrong{"reservedSystemCPUs: 3-1", "reservedSystemCPUs: "},
                    Wrong{"reservedSystemCPUs: some", "reservedSystemCPUs: "},
                    Wrong{"cpuManagerReconcilePeriod: -1s", "must be a duration up to 24h"},
                    Wrong{"cpuManagerPolicy: dynamic", "is not one of none, static"},
                    Wrong{"cpuManagerPolicyOptions: {full-pcpus-only: true}", "full-pcpus-only"},
                    Wrong{"memoryManagerPolicy: static", "is not one of None, Static"},
                    Wrong{"topologyManagerPolicy: best", "is not one of none, best-effort"},
                    Wrong{"topologyManagerScope: node", "is not one of container, pod"},
                    Wrong{"reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
                          "reservedMemory[0].limits.cpu: only memory and hugepages-<size>"},
                    Wrong{"reservedMemory: [{numaNode: 0, limits: {memory: 0}}]",
                          "must be above zero"},
                    Wrong{"reservedMemory: [{limits: {memory: 1Gi}}, {limits: {memory: 1Gi}}]",
                          "is there twice for this NUMA node"},
                    Wrong{"reservedMemory: [{numaNode: 0}]", "needs limits"},
                    Wrong{"reservedMemory: [{numaNode: -1, limits: {}}]", "numaNode"},
                    Wrong{"devicePluginPath: plugins", "must be an absolute path, or empty"},
                    Wrong{"podResourcesPath: res", "must be an absolute path, or empty"},
                    Wrong{"podResourcesPath: /var/lib/kubelet/device-plugins",
                          "podResourcesPath: is devicePluginPath"},
                    Wrong{"devicePluginPath: /var/lib/kubelet/pod-resources",
                          "devicePluginPath: is podResourcesPath"},
                    Wrong{"memorySwap: {swapBehavior: UnlimitedSwap}",
                          "is not one of NoSwap, LimitedSwap, \"\""},
                    Wrong{"systemReservedCgroup: system.slice", "must be a cgroup's path"},
                    Wrong{"kind: Pod", "expected AgentConfiguration"},
                    Wrong{"a: 1\n---\nb: 2", "more than one document"}, Wrong{"a: [", "f.yaml"}));

TEST(AgentConfigTest, LogsHaveKubeletsLimits) {
  const auto usual = ParseConfig("", "f.yaml");
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->container_log_max_bytes, 10 << 20);
  EXPECT_EQ(usual->container_log_max_files, 5);
  const auto config = ParseConfig(
      "containerLogMaxSize: 64Ki\ncontainerLogMaxFiles: 2\ncontainerLogMonitorInterval: 1m30s\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->container_log_max_bytes, 65536);
  EXPECT_EQ(config->container_log_max_files, 2);
  EXPECT_EQ(config->container_log_monitor_interval, absl::Seconds(90));
  EXPECT_EQ(ParseConfig("containerLogMaxSize: -1\n", "f.yaml")->container_log_max_bytes, -1);
}

TEST(AgentConfigTest, FlagsAreInForceOverTheFile) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", "socket: /a.sock\nnodeName: n\n").ok());
  AgentFlags flags;
  const std::string path = dir.root().PathOf("c.yaml");
  ASSERT_FALSE(Parse({"--config", path.c_str(), "--socket", "/b.sock", "--feature-gates",
                      "ClassResources=false", "--evict-after-capacity-shrinks"},
                     flags)
                   .has_value());
  const auto config = LoadConfig(flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->socket, "/b.sock");
  EXPECT_EQ(config->node_name, "n");
  EXPECT_TRUE(config->evict_after_capacity_shrinks);
  EXPECT_FALSE(config->feature_gates.enabled("ClassResources"));
}

TEST(AgentConfigTest, AMissingFileThatIsNamedIsAnError) {
  AgentFlags flags;
  flags.config = "/nonexistent/agent.yaml";
  EXPECT_EQ(LoadConfig(flags).status().code(), absl::StatusCode::kNotFound);
}

TEST(AgentConfigTest, AnEndpointThatIsNoSocketIsAnError) {
  AgentFlags flags;
  flags.runtime_endpoint = "tcp://127.0.0.1:1";
  const absl::Status status = LoadConfig(flags).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("runtimeEndpoint"));
}

absl::Status LoadOf(const std::string& text) {
  const TestDir dir;
  EXPECT_TRUE(dir.root().ReplaceFile("c.yaml", absl::StrCat("nodeName: n\n", text)).ok());
  AgentFlags flags;
  flags.config = dir.root().PathOf("c.yaml");
  return LoadConfig(flags).status();
}

TEST(AgentConfigTest, NamesOfReservedResourcesAreChecked) {
  EXPECT_TRUE(LoadOf("kubeReserved: {cpu: 1, hugepages-2Mi: 4Mi}\n").ok());
  const absl::Status status = LoadOf("systemReserved: {memroy: 1Gi}\n");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("systemReserved: \"memroy\" can't be reserved"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean \"memory\"?"));
}

TEST(AgentConfigTest, LabelsAreChecked) {
  EXPECT_TRUE(LoadOf("nodeLabels: {example.com/rack: a-1}\n").ok());
  EXPECT_THAT(std::string(LoadOf("nodeLabels: {rack: a b}\n").message()),
              HasSubstr("nodeLabels: rack: \"a b\" is no label's value"));
  EXPECT_THAT(std::string(LoadOf("nodeLabels: {-rack: a}\n").message()),
              HasSubstr("nodeLabels: \"-rack\" is no label's key"));
}

TEST(AgentConfigTest, ModeCriNeedsItsGate) {
  const absl::Status status =
      LoadOf("resourceDiscovery: cri\nfeatureGates: {KubeletResourceDiscoveryFromCRI: false}\n");
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs gate"));
}

TEST(AgentConfigTest, APathOfAFlagIsAbsoluteToo) {
  AgentFlags flags;
  flags.socket = "agent.sock";
  const absl::Status status = LoadConfig(flags).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("socket: \"agent.sock\" must be an absolute"));
  flags.socket = "/" + std::string(200, 'x');
  EXPECT_THAT(std::string(LoadConfig(flags).status().message()), HasSubstr("must be at most"));
}

TEST(AgentConfigTest, SeccompIsAsKubeletsKeysAndFlagsSay) {
  EXPECT_FALSE(AgentConfig().seccomp_default);
  EXPECT_EQ(AgentConfig().seccomp_profile_root, "/var/lib/kubelet/seccomp");
  EXPECT_THAT(std::string(LoadOf("seccompProfileRoot: profiles\n").message()),
              HasSubstr("seccompProfileRoot: must be an absolute path"));
  AgentFlags flags;
  flags.node_name = "n";
  ASSERT_FALSE(Parse({"--seccomp-default", "--seccomp-profile-root", "/p"}, flags).has_value());
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", "seccompProfileRoot: /of-file\n").ok());
  flags.config = dir.root().PathOf("c.yaml");
  const auto config = LoadConfig(flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->seccomp_default);
  EXPECT_EQ(config->seccomp_profile_root, "/p");
}

TEST(AgentConfigTest, HelpAndWrongFlagsExitAtOnce) {
  AgentFlags flags;
  const auto help = Parse({"--help"}, flags);
  ASSERT_TRUE(help.has_value());
  EXPECT_EQ(help->code, 0);
  EXPECT_THAT(help->text, HasSubstr("--pod-manifest-path"));
  EXPECT_EQ(Parse({"--nonsense"}, flags)->code, 2);
}

}  // namespace
}  // namespace plimsoll::agent
