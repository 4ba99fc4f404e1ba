#include "agent/manager_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/enforcement_config.h"
#include "agent/node_options_of.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Config Parse(const std::string& text) {
  const auto config = ParseConfig(text, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(Config());
}

TEST(ManagerConfigTest, TheDefaultsAreKubelets) {
  const auto options = ManagerOptionsOf(Parse(""));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_FALSE(options->static_cpus);
  EXPECT_FALSE(options->static_memory);
  EXPECT_EQ(options->topology, TopologyOptions());
  EXPECT_TRUE(options->pod_level);
  EXPECT_EQ(Parse("cpuManagerReconcilePeriod: 0s").cpu_manager_reconcile_period, absl::Seconds(10));
}

TEST(ManagerConfigTest, KeysBecomeTheManagersOptions) {
  const auto options = ManagerOptionsOf(
      Parse("cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
            "systemReserved: {cpu: 500m, memory: 1Gi}\n"
            "kubeReserved: {cpu: '1', memory: 512Mi, hugepages-2Mi: 4Mi}\n"
            "memoryManagerPolicy: Static\nreservedMemory:\n"
            "- {numaNode: 0, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}\n"
            "- {numaNode: 1, limits: {memory: 512Mi}}\n"
            "topologyManagerPolicy: best-effort\ntopologyManagerScope: pod\n"
            "featureGates: {PodLevelResourceManagers: false}\n"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->static_cpus);
  EXPECT_TRUE(options->cpu_options.align_by_socket);
  EXPECT_EQ(options->reserved_cpus.milli, 1500);
  EXPECT_FALSE(options->reserved_cpus.cpus.has_value());
  EXPECT_TRUE(options->static_memory);
  EXPECT_EQ(options->reserved_memory.at(1).at("memory"), int64_t{512} << 20);
  EXPECT_EQ(options->reserved_memory_sum.at("memory"), int64_t{1536} << 20);
  EXPECT_EQ(options->reserved_memory_sum.at("hugepages-2Mi"), 4 << 20);
  EXPECT_EQ(options->topology.policy, TopologyPolicy::kBestEffort);
  EXPECT_EQ(options->topology.scope, TopologyScope::kPod);
  EXPECT_FALSE(options->pod_level);
}

TEST(ManagerConfigTest, ReservedCpusStandForBothAmountsOfCpu) {
  const Config config = Parse(
      "cpuManagerPolicy: static\nreservedSystemCPUs: 0-2\n"
      "systemReserved: {cpu: 500m, memory: 1Gi}\nkubeReserved: {cpu: 200m, memory: 1Gi}\n");
  const auto options = ManagerOptionsOf(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->reserved_cpus.cpus->ToString(), "0-2");
  EXPECT_EQ(options->reserved_cpus.milli, 3000);
  const NodeOptions node = NodeOptionsOf(config, "");
  EXPECT_EQ(node.system_reserved.at("cpu").MilliValue(), 3000);
  EXPECT_FALSE(node.kube_reserved.contains("cpu"));
  EXPECT_EQ(node.kube_reserved.at("memory").Canonical(), "1Gi");
  EXPECT_TRUE(node.cpu_ids_required);
}

struct Wrong {
  const char* text;
  const char* message;
};
class ManagerMistakeTest : public testing::TestWithParam<Wrong> {};

TEST_P(ManagerMistakeTest, IsRefusedAsByKubelet) {
  const absl::Status status = ManagerOptionsOf(Parse(GetParam().text)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ManagerMistakeTest,
    testing::Values(
        Wrong{"cpuManagerPolicyOptions: {full-pcpus-only: 'true'}", "none has no options"},
        Wrong{"cpuManagerPolicy: static", "static needs CPUs for the system"},
        Wrong{"cpuManagerPolicy: static\nsystemReserved: {cpu: 1}\n"
              "cpuManagerPolicyOptions: {nonsense: 'true'}",
              "nonsense"},
        Wrong{"topologyManagerPolicyOptions: {nonsense: 'true'}", "nonsense"},
        Wrong{"reservedSystemCPUs: '0'\nsystemReservedCgroup: /a", "can't be beside"},
        Wrong{"reservedSystemCPUs: '0'\nkubeReservedCgroup: /a", "can't be beside"},
        Wrong{"memoryManagerPolicy: Static", "Static needs memory for the system"},
        Wrong{"memoryManagerPolicy: Static\nsystemReserved: {memory: 2Gi}\n"
              "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
              "reserves 1073741824 bytes of memory, and systemReserved and kubeReserved together "
              "2147483648"},
        Wrong{"memoryManagerPolicy: Static\nsystemReserved: {memory: 1Gi}\n"
              "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 1Gi}}]",
              "bytes of hugepages-1Gi"},
        Wrong{"memoryManagerPolicy: Static\nreservedMemory: [{limits: {memory: 8Ei}}]",
              "reservedMemory: "}));

absl::Status CheckEnforced(const std::string& text) {
  return CheckEnforcement(Parse(text));
}

TEST(EnforcementConfigTest, PodsAreTheDefaultWhereTheAgentMakesGroups) {
  EXPECT_THAT(Parse("").enforce_node_allocatable, ElementsAre("pods"));
  EXPECT_THAT(Parse("cgroupsPerQOS: false").enforce_node_allocatable, ElementsAre("none"));
  EXPECT_TRUE(Parse("enforceNodeAllocatable: []").enforce_node_allocatable.empty());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: []").ok());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: [none]").ok());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: [pods, system-reserved-compressible]\n"
                            "systemReservedCgroup: /a")
                  .ok());
}

class EnforcementMistakeTest : public testing::TestWithParam<Wrong> {};

TEST_P(EnforcementMistakeTest, IsRefusedAsByKubelet) {
  const absl::Status status = CheckEnforced(GetParam().text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, EnforcementMistakeTest,
    testing::Values(
        Wrong{"enforceNodeAllocatable: [pods, pods]", "is there twice"},
        Wrong{"enforceNodeAllocatable: [none, pods]", "none stands alone"},
        Wrong{"enforceNodeAllocatable: [all]", "\"all\" is none of pods, system-reserved"},
        Wrong{"enforceNodeAllocatable: [system-reserved]", "needs systemReservedCgroup"},
        Wrong{"enforceNodeAllocatable: [kube-reserved-compressible]", "needs kubeReservedCgroup"},
        Wrong{"enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\n"
              "kubeReservedCgroup: /a",
              "exclude each other"},
        Wrong{"cgroupsPerQOS: false\nenforceNodeAllocatable: [pods]", "needs cgroupsPerQOS"}));

}  // namespace
}  // namespace plimsoll::agent
