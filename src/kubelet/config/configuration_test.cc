#include "kubelet/config/configuration.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/config/machines_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Configuration ConfigurationOf(const std::vector<std::string>& texts) {
  Configuration configuration;
  for (const std::string& text : texts) {
    const absl::Status status = Overlay(text, "kubelet.yaml", &configuration);
    EXPECT_TRUE(status.ok()) << status;
  }
  return configuration;
}

uint64_t Eviction(const std::string& lines, uint64_t capacity) {
  const auto bytes =
      EvictionBytes(ConfigurationOf({"kind: KubeletConfiguration\n" + lines}), capacity);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or(0);
}

TEST(ConfigurationTest, ReadsWhatCounts) {
  const Configuration read = ConfigurationOf({R"(
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/x.sock
reservedSystemCPUs: "0"
cpuManagerPolicy: static
cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}
memoryManagerPolicy: Static
systemReserved: {cpu: 1, memory: 1Gi}
kubeReserved: {memory: 200Mi}
systemReservedCgroup: /system.slice
evictionHard: {memory.available: 5%}
memorySwap: {swapBehavior: LimitedSwap}
reservedMemory:
- {numaNode: 1, limits: {memory: 1Gi}}
authentication: {anonymous: {enabled: false}}
)"});
  EXPECT_EQ(read.container_runtime_endpoint, "unix:///run/x.sock");
  EXPECT_EQ(read.reserved_system_cpus, "0");
  EXPECT_EQ(read.cpu_manager_policy, "static");
  EXPECT_TRUE(IsStrict(read));
  EXPECT_EQ(read.memory_manager_policy, "Static");
  EXPECT_THAT(read.system_reserved, ElementsAre(Pair("cpu", "1"), Pair("memory", "1Gi")));
  EXPECT_EQ(*MemoryIn(read.kube_reserved), 200 * kMi);
  EXPECT_EQ(read.system_reserved_cgroup, "/system.slice");
  EXPECT_EQ(read.swap_behavior, "LimitedSwap");
  ASSERT_EQ(read.reserved_memory.size(), 1u);
  EXPECT_EQ(read.reserved_memory[0].numa_node, 1u);
  EXPECT_THAT(read.reserved_memory[0].limits, ElementsAre(Pair("memory", "1Gi")));
}

TEST(ConfigurationTest, DropInsAreLaidOverIt) {
  const Configuration read = ConfigurationOf({R"(
kind: KubeletConfiguration
cpuManagerPolicy: static
systemReserved: {memory: 1Gi, pid: 100}
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]
)",
                                              R"(
kind: KubeletConfiguration
systemReserved: {memory: 2Gi, pid: null}
reservedMemory: [{numaNode: 2, limits: {memory: 2Gi}}]
)"});
  EXPECT_EQ(read.cpu_manager_policy, "static");
  EXPECT_THAT(read.system_reserved, ElementsAre(Pair("memory", "2Gi")));
  ASSERT_EQ(read.reserved_memory.size(), 1u);
  EXPECT_EQ(read.reserved_memory[0].numa_node, 2u);
}

TEST(ConfigurationTest, TakesConfigz) {
  const Configuration read = ConfigurationOf(
      {R"({"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}})"});
  EXPECT_EQ(read.cpu_manager_policy, "static");
  EXPECT_EQ(read.reserved_system_cpus, "0-1");
}

TEST(ConfigurationTest, FaultsAreNamedWithTheirPlace) {
  const std::pair<const char*, const char*> faults[] = {
      {"", "must be a KubeletConfiguration"},
      {"[]", "must be a KubeletConfiguration"},
      {"kind: Pod", "kind: must be KubeletConfiguration"},
      {"kind: KubeletConfiguration\nsystemReserved: 5", "k.yaml:2:17: systemReserved"},
      {"kind: KubeletConfiguration\nreservedMemory: [{numaNode: -1}]",
       "reservedMemory[0].numaNode"},
      {"kind: KubeletConfiguration\ncpuManagerPolicy: [", "k.yaml"},
      {"kind: KubeletConfiguration\nreservedSystemCPUs: 0", "reservedSystemCPUs"},
      {"a: }}}", "k.yaml"},
  };
  for (const auto& [text, reason] : faults) {
    Configuration configuration;
    const absl::Status status = Overlay(text, "k.yaml", &configuration);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << status;
    EXPECT_THAT(status.message(), HasSubstr(reason)) << text;
  }
}

TEST(ConfigurationTest, Eviction) {
  EXPECT_EQ(Eviction("", 8 * kGi), 100 * kMi) << "kubelet's default";
  EXPECT_EQ(Eviction("evictionHard: {memory.available: 200Mi}", 8 * kGi), 200 * kMi);
  EXPECT_EQ(Eviction("evictionHard: {memory.available: \"25%\"}", 8 * kGi), 2 * kGi);
  // Any entry of one's own switches the defaults off.
  EXPECT_EQ(Eviction("evictionHard: {nodefs.available: 1%}", 8 * kGi), 0u);
  EXPECT_EQ(
      Eviction("evictionHard: {nodefs.available: 1%}\nmergeDefaultEvictionSettings: true", 8 * kGi),
      100 * kMi);
  for (const char* wrong : {"101%", "x%", "lots", "-1Mi"}) {
    Configuration configuration;
    configuration.eviction_hard.emplace()["memory.available"] = wrong;
    EXPECT_TRUE(absl::IsInvalidArgument(EvictionBytes(configuration, kGi).status())) << wrong;
  }
}

TEST(ConfigurationTest, MemoryOfAReservation) {
  EXPECT_EQ(*MemoryIn({}), 0u);
  EXPECT_EQ(*MemoryIn({{"cpu", "1"}}), 0u);
  EXPECT_EQ(*MemoryIn({{"memory", "1.5Gi"}}), 1536 * kMi);
  EXPECT_TRUE(absl::IsInvalidArgument(MemoryIn({{"memory", "-1"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MemoryIn({{"memory", "a lot"}}).status()));
}

}  // namespace
}  // namespace plimsoll::kubelet
