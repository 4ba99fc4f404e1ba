// A large machine with many pods.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/managers/allocation_ledger.h"
#include "agent/managers/managers_for_test.h"
#include "agent/managers/refit.h"

namespace plimsoll::agent {
namespace {

// 512 CPUs in 8 nodes; each pod has two CPUs, memory and a device, of one node.
TEST(AllocationScaleTest, TwoHundredAndFiftyPodsAreEachOnOneNode) {
  const topology::MachineMaps maps =
      MapsOf({.packages = 2, .nodes = 4, .cores = 32, .threads = 2, .node_bytes = 128 * kGi});
  ManagerOptions options = StaticOptions();
  options.topology.policy = TopologyPolicy::kSingleNumaNode;
  const auto managers = ManagersOf(options, maps);
  DeviceStock stock;
  for (uint32_t i = 0; i < 256; ++i) {
    stock["v.com/gpu"].devices.push_back({.id = absl::StrCat(i), .nodes = NodeMask::Of(i % 8)});
  }
  AllocationLedger ledger(managers, stock, nullptr);
  const pod::Manifest pod =
      PodOf({ContainerOf("main", {{"cpu", "2"}, {"memory", "3Gi"}, {"v.com/gpu", "1"}})});
  std::vector<GrantedPod> pods;
  resources::CpuSet taken;
  DeviceIds devices;
  for (int i = 0; i < 250; ++i) {
    PodGrant grant;
    const auto rejection = ledger.Allocate(pod, grant);
    ASSERT_FALSE(rejection.has_value()) << i << ": " << rejection->message;
    const ContainerGrant& own = grant.containers.at("main");
    ASSERT_EQ(own.cpus.Size(), 2u);
    EXPECT_TRUE(own.cpus.Intersection(taken).Empty());
    taken = taken.Union(own.cpus);
    const std::string id = grant.devices.at("main").at("v.com/gpu").at(0);
    EXPECT_TRUE(devices.insert(id).second);
    const uint32_t node = maps.cpus.at(own.cpus.ToVector()[0]).numa_node;
    EXPECT_EQ(maps.cpus.at(own.cpus.ToVector()[1]).numa_node, node);
    ASSERT_EQ(own.memory.size(), 1u);
    EXPECT_EQ(own.memory[0].nodes, NodeMask::Of(node));
    EXPECT_TRUE(stock["v.com/gpu"].devices.at(std::stoul(id)).nodes->Contains(node));
    pods.push_back({.uid = absl::StrCat(i),
                    .name = absl::StrCat("default/", i),
                    .created = absl::FromUnixSeconds(i),
                    .manifest = &pod,
                    .grant = grant});
  }
  EXPECT_EQ(taken.Size(), 500u);
  const absl::Status fit = CheckFit(*managers, pods);
  EXPECT_TRUE(fit.ok()) << fit;
  // A node's CPUs go: its pods that find no room are short.
  const auto less = ManagersOf(options, Without(maps, CpusOfText("224-255")));
  size_t short_pods = 0;
  for (const Refitted& each : Refit(less, pods)) {
    const ContainerGrant& own = each.grant.containers.at("main");
    EXPECT_EQ(own.cpu_count, 2);
    short_pods += own.cpus.Size() < 2 ? 1 : 0;
  }
  EXPECT_GT(short_pods, 0u);
  EXPECT_LE(short_pods, 32u);
}

}  // namespace
}  // namespace plimsoll::agent
