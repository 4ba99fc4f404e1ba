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

AgentConfig ParsedManagers(const std::string& text) {
  const auto config = ParseConfig(text, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(AgentConfig());
}

TEST(ManagerConfigTest, TheDefaultsAreKubelets) {
  const auto options = ManagerOptionsOf(ParsedManagers(""));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_FALSE(options->static_cpus);
  EXPECT_FALSE(options->static_memory);
  EXPECT_EQ(options->topology, TopologyOptions());
  EXPECT_TRUE(options->pod_level);
  EXPECT_EQ(ParsedManagers("cpuManagerReconcilePeriod: 0s").cpu_manager_reconcile_period,
            absl::Seconds(10));
}

TEST(ManagerConfigTest, KeysBecomeTheManagersOptions) {
  const auto options = ManagerOptionsOf(ParsedManagers(
      "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
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

// With nodeResources.cpus.reserved: "0" in the runtime's configuration, the agent demanded a
// further CPU, and knew no CPU 0.
TEST(ManagerConfigTest, CpusThatTheRuntimeKeepsAreReservedAlready) {
  EXPECT_TRUE(ManagerOptionsOf(ParsedManagers("cpuManagerPolicy: static")).ok())
      << "the topology may leave some";
  const auto within = [](const std::string& config, const std::string& node) {
    const auto options = ManagerOptionsOf(ParsedManagers("cpuManagerPolicy: static\n" + config));
    EXPECT_TRUE(options.ok()) << options.status();
    return ReservationWithin(options->reserved_cpus, *resources::CpuSet::Parse(node),
                             *resources::CpuSet::Parse("0-3"));
  };
  const auto none = within("", "1-3");
  EXPECT_TRUE(none->has_others);
  EXPECT_EQ(none->milli, 0);
  const auto outside = within("reservedSystemCPUs: '0'", "1-3");
  ASSERT_TRUE(outside.ok()) << outside.status();
  EXPECT_TRUE(outside->has_others);
  EXPECT_EQ(outside->cpus->ToString(), "");
  EXPECT_EQ(outside->milli, 0);
  const auto both = within("reservedSystemCPUs: 0-1", "1-3");
  EXPECT_EQ(both->cpus->ToString(), "1");
  EXPECT_EQ(both->milli, 1000);
  const auto all = within("reservedSystemCPUs: '0'", "0-3");
  EXPECT_FALSE(all->has_others);
  EXPECT_EQ(all->cpus->ToString(), "0");
  EXPECT_THAT(std::string(within("reservedSystemCPUs: 0,4", "1-3").status().message()),
              HasSubstr("reservedSystemCPUs: 0,4: neither the node nor the machine has CPUs 4"));
  EXPECT_EQ(within("systemReserved: {cpu: 500m}", "1-3")->milli, 500);
}

TEST(ManagerConfigTest, ReservedCpusStandForBothAmountsOfCpu) {
  const AgentConfig config = ParsedManagers(
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

struct Unfit {
  const char* text;
  const char* message;
};
class ManagerMistakeTest : public testing::TestWithParam<Unfit> {};

TEST_P(ManagerMistakeTest, IsRefusedAsByKubelet) {
  const absl::Status status = ManagerOptionsOf(ParsedManagers(GetParam().text)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ManagerMistakeTest,
    testing::Values(
        Unfit{"cpuManagerPolicyOptions: {full-pcpus-only: 'true'}", "none has no options"},
        Unfit{"cpuManagerPolicy: static\nresourceDiscovery: local",
              "static needs CPUs for the system"},
        Unfit{"cpuManagerPolicy: static\nfeatureGates: {KubeletResourceDiscoveryFromCRI: false}",
              "static needs CPUs for the system"},
        Unfit{"cpuManagerPolicy: static\nsystemReserved: {cpu: 1}\n"
              "cpuManagerPolicyOptions: {nonsense: 'true'}",
              "nonsense"},
        Unfit{"topologyManagerPolicyOptions: {nonsense: 'true'}", "nonsense"},
        Unfit{"reservedSystemCPUs: '0'\nsystemReservedCgroup: /a", "can't be beside"},
        Unfit{"reservedSystemCPUs: '0'\nkubeReservedCgroup: /a", "can't be beside"},
        Unfit{"memoryManagerPolicy: Static", "Static needs memory for the system"},
        Unfit{"memoryManagerPolicy: Static\nsystemReserved: {memory: 2Gi}\n"
              "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
              "reserves 1073741824 bytes of memory, and systemReserved and kubeReserved together "
              "2147483648"},
        Unfit{"memoryManagerPolicy: Static\nsystemReserved: {memory: 1Gi}\n"
              "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 1Gi}}]",
              "bytes of hugepages-1Gi"},
        Unfit{"memoryManagerPolicy: Static\nreservedMemory: [{limits: {memory: 8Ei}}]",
              "reservedMemory: "}));

absl::Status CheckEnforced(const std::string& text) {
  return CheckEnforcement(ParsedManagers(text));
}

TEST(EnforcementConfigTest, PodsAreTheDefaultWhereTheAgentMakesGroups) {
  EXPECT_THAT(ParsedManagers("").enforce_node_allocatable, ElementsAre("pods"));
  EXPECT_THAT(ParsedManagers("cgroupsPerQOS: false").enforce_node_allocatable, ElementsAre("none"));
  EXPECT_TRUE(ParsedManagers("enforceNodeAllocatable: []").enforce_node_allocatable.empty());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: []").ok());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: [none]").ok());
  EXPECT_TRUE(CheckEnforced("enforceNodeAllocatable: [pods, system-reserved-compressible]\n"
                            "systemReservedCgroup: /a")
                  .ok());
}

class EnforcementMistakeTest : public testing::TestWithParam<Unfit> {};

TEST_P(EnforcementMistakeTest, IsRefusedAsByKubelet) {
  const absl::Status status = CheckEnforced(GetParam().text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, EnforcementMistakeTest,
    testing::Values(
        Unfit{"enforceNodeAllocatable: [pods, pods]", "is there twice"},
        Unfit{"enforceNodeAllocatable: [none, pods]", "none stands alone"},
        Unfit{"enforceNodeAllocatable: [all]", "\"all\" is none of pods, system-reserved"},
        Unfit{"enforceNodeAllocatable: [system-reserved]", "needs systemReservedCgroup"},
        Unfit{"enforceNodeAllocatable: [kube-reserved-compressible]", "needs kubeReservedCgroup"},
        Unfit{"enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\n"
              "kubeReservedCgroup: /a",
              "exclude each other"},
        Unfit{"cgroupsPerQOS: false\nenforceNodeAllocatable: [pods]", "needs cgroupsPerQOS"}));

}  // namespace
}  // namespace plimsoll::agent
