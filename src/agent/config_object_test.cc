#include "agent/config_object.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::agent {
namespace {

// The object, read as a configuration, has the same values.
TEST(ConfigObjectTest, IsAConfigurationOfTheSameValues) {
  const auto config = ParseConfig(
      "runtimeEndpoint: unix:///r.sock\nobjectsPath: /o\npodPidsLimit: 7\nmaxPods: 3\n"
      "systemReserved: {cpu: 500m}\nnodeLabels: {a: b}\ncontainerLogMaxSize: -1\n"
      "containerLogMonitorInterval: 90s\nfeatureGates: {ClassResources: false}\n"
      "evictAfterCapacityShrinks: true\nlogging: {level: debug}\n"
      "devices: {example.com/gpu: [{cdi: vendor.com/gpu=0}], example.com/log: [{path: /dev/log0, "
      "permissions: rw}]}\n"
      "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"
      "cpuManagerReconcilePeriod: 5s\nreservedSystemCPUs: 0,2\nmemoryManagerPolicy: Static\n"
      "reservedMemory: [{numaNode: 1, limits: {memory: 1Gi}}]\ntopologyManagerPolicy: restricted\n"
      "topologyManagerScope: pod\n"
      "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
      "devicePluginPath: ''\npluginRegistryPath: /reg\npodResourcesPath: /res\nmemorySwap: "
      "{swapBehavior: LimitedSwap}\n"
      "seccompDefault: true\nseccompProfileRoot: /profiles\nsingleProcessOOMKill: false\n"
      "failSwapOn: true\nenforceNodeAllocatable: [pods, kube-reserved]\n"
      "systemReservedCgroup: /system.slice\nkubeReservedCgroup: /kube.slice\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const nlohmann::json object = ConfigObject(*config);
  const auto again = ParseConfig(object["kubeletconfig"].dump(), "object");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ConfigObject(*again), object);
  EXPECT_EQ(again->runtime_endpoint, "unix:///r.sock");
  EXPECT_EQ(again->objects_path, "/o");
  EXPECT_EQ(again->pod_pids_limit, 7);
  EXPECT_EQ(again->container_log_max_bytes, -1);
  EXPECT_EQ(again->container_log_monitor_interval, absl::Seconds(90));
  EXPECT_FALSE(again->feature_gates.enabled("ClassResources"));
  EXPECT_TRUE(again->evict_after_capacity_shrinks);
  EXPECT_EQ(again->log_level, "debug");
  EXPECT_EQ(again->cpu_manager_policy_options.at("full-pcpus-only"), "true");
  EXPECT_EQ(again->cpu_manager_reconcile_period, absl::Seconds(5));
  EXPECT_EQ(again->reserved_system_cpus->ToString(), "0,2");
  EXPECT_EQ(again->reserved_memory.at(1).at("memory"), int64_t{1} << 30);
  EXPECT_EQ(again->topology_manager_policy, "restricted");
  EXPECT_EQ(again->topology_manager_scope, "pod");
  EXPECT_EQ(again->topology_manager_policy_options.at("prefer-closest-numa-nodes"), "true");
  EXPECT_EQ(again->device_plugin_path, "");
  EXPECT_EQ(again->plugin_registry_path, "/reg");
  EXPECT_EQ(again->pod_resources_path, "/res");
  EXPECT_EQ(again->swap_behavior, "LimitedSwap");
  EXPECT_TRUE(again->fail_swap_on);
  EXPECT_TRUE(again->seccomp_default);
  EXPECT_EQ(again->seccomp_profile_root, "/profiles");
  EXPECT_EQ(again->single_process_oom_kill, false);
  EXPECT_EQ(again->enforce_node_allocatable, (std::vector<std::string>{"pods", "kube-reserved"}));
  EXPECT_EQ(again->system_reserved_cgroup, "/system.slice");
  EXPECT_EQ(again->kube_reserved_cgroup, "/kube.slice");
  EXPECT_EQ(again->devices.at("example.com/gpu").front().cdi_name, "vendor.com/gpu=0");
  EXPECT_EQ(again->devices.at("example.com/log").front().node.permissions, "rw");
}

TEST(ConfigObjectTest, TheDefaultsAreOneToo) {
  AgentConfig config;
  config.node_name = "n";
  const auto again = ParseConfig(ConfigObject(config)["kubeletconfig"].dump(), "object");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->container_log_max_bytes, 10 << 20);
  EXPECT_TRUE(again->objects_path.empty());
}

}  // namespace
}  // namespace plimsoll::agent
